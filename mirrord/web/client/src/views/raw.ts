// Markdown and nodes that this editor has no form for: shown as written, never parsed as HTML.
import type { Node } from '@tiptap/pm/model'
import type { NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'
import { VIEW } from '../words'

const json = (node: Node) => node.attrs['json'] as { type?: unknown } | null

export const rawBlock: NodeViewConstructor = (node) => ({
  dom: element('pre', { class: 'raw', title: VIEW.raw }, String(node.attrs['raw'] ?? '')),
})

export const rawInline: NodeViewConstructor = (node) => ({
  dom: element('code', { class: 'raw', title: VIEW.raw }, String(node.attrs['raw'] ?? '')),
})

export const unknownBlock: NodeViewConstructor = (node) => ({
  dom: element(
    'div',
    { class: 'unknown' },
    element('p', {}, VIEW.unknown(String(json(node)?.type))),
    element('pre', {}, JSON.stringify(json(node), null, 2)),
  ),
})

export const unknownInline: NodeViewConstructor = (node) => ({
  dom: element('span', { class: 'chip', title: JSON.stringify(json(node)) }, String(json(node)?.type)),
})
