// Formulas as MathML, once the module that renders them is loaded. Text that is no formula is shown as written.
import type { Node } from '@tiptap/pm/model'
import type { NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'
import { formulas } from '../later/later'
import { VIEW } from '../words'

let draw: Draw | null = null

type Draw = Awaited<ReturnType<typeof formulas>>

const latexOf = (node: Node) => String(node.attrs['latex'] ?? '')

function shown(dom: HTMLElement, node: Node, displayMode: boolean): { dom: HTMLElement } {
  if (draw) drawn(dom, node, displayMode, draw)
  else {
    asWritten(dom, node, latexOf(node))
    void formulas().then(
      (found) => drawn(dom, node, displayMode, (draw = found)),
      () => undefined, // without the module formulas are shown as written
    )
  }
  return { dom }
}

function drawn(dom: HTMLElement, node: Node, displayMode: boolean, drawInto: Draw): void {
  const latex = latexOf(node)
  try {
    drawInto(latex, dom, displayMode)
    dom.title = latex
  } catch (error) {
    asWritten(dom, node, error instanceof Error ? error.message : VIEW.noFormula)
  }
}

function asWritten(dom: HTMLElement, node: Node, title: string): void {
  dom.replaceChildren(element('code', { class: 'raw' }, latexOf(node) || '$ $'))
  dom.title = title
}

export const mathBlock: NodeViewConstructor = (node) => shown(element('div', { class: 'math' }), node, true)

export const mathInline: NodeViewConstructor = (node) =>
  shown(element('span', { class: 'math' }), node, Boolean(node.attrs['display']))
