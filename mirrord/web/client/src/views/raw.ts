// Markdown and nodes that this editor has no form for: shown as written, never parsed as HTML.
import type { Node } from '@tiptap/pm/model'
import type { NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'

const json = (node: Node) => node.attrs['json'] as { type?: unknown } | null

export const rawBlock: NodeViewConstructor = (node) => ({
  dom: element('pre', { class: 'raw', title: 'Kept as it is written' }, String(node.attrs['raw'] ?? '')),
})

export const rawInline: NodeViewConstructor = (node) => ({
  dom: element('code', { class: 'raw', title: 'Kept as it is written' }, String(node.attrs['raw'] ?? '')),
})

export const unknownBlock: NodeViewConstructor = (node) => ({
  dom: element(
    'div',
    { class: 'unknown' },
    element('p', {}, `A block that this editor does not know (${String(json(node)?.type)}). It is kept as it is.`),
    element('pre', {}, JSON.stringify(json(node), null, 2)),
  ),
})

export const unknownInline: NodeViewConstructor = (node) => ({
  dom: element('span', { class: 'chip', title: JSON.stringify(json(node)) }, String(json(node)?.type)),
})
