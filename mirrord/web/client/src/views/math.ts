// Formulas as MathML, once the module that renders them is loaded. Text that is no formula is shown as written.
import type { Node } from '@tiptap/pm/model'
import type { NodeViewConstructor } from '@tiptap/pm/view'
import { element } from '../dom'
import { formulas } from '../later/later'
import { VIEW } from '../words'

const LONGEST = 20_000 // letters; beyond that a formula is shown as it is written

let temml: Temml | null = null

type Temml = Awaited<ReturnType<typeof formulas>>

const latexOf = (node: Node) => String(node.attrs['latex'] ?? '')

function shown(dom: HTMLElement, node: Node, displayMode: boolean): { dom: HTMLElement } {
  if (temml) drawn(dom, node, displayMode, temml)
  else {
    asWritten(dom, node, latexOf(node))
    void formulas().then(
      (found) => drawn(dom, node, displayMode, (temml = found)),
      () => undefined, // without the module formulas are shown as written
    )
  }
  return { dom }
}

function drawn(dom: HTMLElement, node: Node, displayMode: boolean, { render }: Temml): void {
  const latex = latexOf(node)
  try {
    if (latex.length > LONGEST) throw new RangeError('This formula is too long to be drawn')
    render(latex, dom, { displayMode, throwOnError: true, maxExpand: 500, maxSize: [20, 100], trust: false })
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
