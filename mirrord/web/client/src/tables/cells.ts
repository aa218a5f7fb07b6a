// Cells of tables: the keys that go from one to the next, and the shape that Markdown has for tables.
import { type Editor, Extension } from '@tiptap/core'
import { isHistoryTransaction } from '@tiptap/pm/history'
import { Plugin, Selection } from '@tiptap/pm/state'
import { addRowAfter, cellAround, nextCell } from '@tiptap/pm/tables'
import { ELSEWHERE } from '../saving/elsewhere'
import { shaped } from './tableshape'

export const Cells = Extension.create({
  name: 'mirrordCells',
  addKeyboardShortcuts() {
    return { Enter: () => goDown(this.editor) }
  },
  addProseMirrorPlugins: () => [
    new Plugin({
      appendTransaction: (transactions, before, now) => {
        const isTyped = transactions.some((each) => each.docChanged)
        const isBrought = transactions.some((each) => each.getMeta(ELSEWHERE) || isHistoryTransaction(each))
        return isTyped && !isBrought ? shaped(before.doc, now) : null
      },
    }),
  ],
})

/** Goes to the next or, with -1, the previous cell, from the last one into a new row. */
export function goToCell(editor: Editor, way: 1 | -1): void {
  if (way < 0) editor.commands.goToPreviousCell()
  else if (!editor.commands.goToNextCell()) editor.chain().addRowAfter().goToNextCell().run()
}

/** Goes to the cell below, which may be in a new row; false: the cursor is in no cell, or in a block within one. */
function goDown(editor: Editor): boolean {
  const { $head } = editor.state.selection
  const $cell = cellAround($head)
  if (!$cell || $head.depth > $cell.depth + 2) return false
  if (!nextCell($cell, 'vert', 1)) addRowAfter(editor.state, editor.view.dispatch)
  const { doc, tr } = editor.state
  const below = nextCell(doc.resolve($cell.pos), 'vert', 1)
  if (!below) return true
  const end = doc.resolve(below.pos + below.nodeAfter!.nodeSize - 1)
  editor.view.dispatch(tr.setSelection(Selection.near(end, -1)).scrollIntoView())
  return true
}
