// Formulas, as MathML. What is no formula is shown as it is written.
import type { Node } from '@tiptap/pm/model'
import type { NodeViewConstructor } from '@tiptap/pm/view'
import temml from 'temml'
import { element } from '../dom'

const LONGEST = 20_000 // letters; beyond that a formula is shown as it is written

function drawn(dom: HTMLElement, node: Node, displayMode: boolean): void {
  const latex = String(node.attrs['latex'] ?? '')
  try {
    if (latex.length > LONGEST) throw new RangeError('This formula is too long to be drawn')
    temml.render(latex, dom, { displayMode, throwOnError: true, maxExpand: 500, maxSize: [20, 100], trust: false })
    dom.title = latex
  } catch (error) {
    dom.replaceChildren(element('code', { class: 'raw' }, latex || '$ $'))
    dom.title = error instanceof Error ? error.message : 'This is not a formula'
  }
}

export const mathBlock: NodeViewConstructor = (node) => {
  const dom = element('div', { class: 'math' })
  drawn(dom, node, true)
  return { dom }
}

export const mathInline: NodeViewConstructor = (node) => {
  const dom = element('span', { class: 'math' })
  drawn(dom, node, Boolean(node.attrs['display']))
  return { dom }
}
