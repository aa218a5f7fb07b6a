// New formulas: of the selected text, with their fields open.
import type { Editor } from '@tiptap/core'
import { NodeSelection } from '@tiptap/pm/state'

const SAMPLE = 'x^2' // Markdown has no formula without a text

/** Puts a formula in place of the selection and selects it. */
export function insertFormula(editor: Editor, name: 'mathBlock' | 'mathInline'): void {
  const { tr, doc, selection, schema } = editor.state
  const text = doc.textBetween(selection.from, selection.to, ' ').trim()
  const latex = isFormula(text) ? text : SAMPLE
  const node = schema.nodes[name]!.create({ latex })
  tr.replaceRangeWith(selection.from, selection.to, node)
  tr.doc.nodesBetween(Math.max(0, tr.mapping.map(selection.from, -1) - 1), tr.mapping.map(selection.to), (child, at) => {
    if (child.type === node.type && child.attrs['latex'] === latex) tr.setSelection(NodeSelection.create(tr.doc, at))
  })
  editor.view.dispatch(tr.scrollIntoView())
}

/** Whether Markdown can hold a text between dollars; while it is typed it often cannot. */
export function isFormula(latex: string): boolean {
  const text = latex.trim()
  return text !== '' && !text.endsWith('\\') && !/(?<!\\)\$|\n\s*\n/.test(text)
}
