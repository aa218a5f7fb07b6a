// The actions on the text, for the toolbar and for the menu that `/` opens.
import type { Editor } from '@tiptap/core'
import { FIRST_FIELD, focusIn } from '../dom'
import { insertFootnote } from '../typing/footnotes'
import { insertFormula } from '../typing/formula'
import { beginLink } from '../links/linking'
import { step } from '../moving/moving'
import { ACTION, DIAGRAM } from '../words'

export interface Action {
  label: string
  /** The text of the button; its name for screen readers is the label. */
  sign: string
  run(editor: Editor): void
  /** Whether the action is on at the cursor; undefined: it has no state. */
  isOn?(editor: Editor): boolean
  /** The keys of the action, as shown to a person. */
  keys?: string
  /** Other words that people look for it by. */
  also?: string
}

const mark = (name: string, label: string, sign: string, keys: string): Action => ({
  ...{ label, sign, keys },
  run: (editor) => void editor.chain().focus().toggleMark(name).run(),
  isOn: (editor) => editor.isActive(name),
})

const heading = (level: 1 | 2 | 3): Action => ({
  label: ACTION.heading(level),
  sign: `H${level}`,
  keys: `Ctrl+Alt+${level}`,
  also: ACTION.headingAlso(level),
  run: (editor) => void editor.chain().focus().toggleHeading({ level }).run(),
  isOn: (editor) => editor.isActive('heading', { level }),
})

export const MARKS: Action[] = [
  mark('bold', ACTION.bold, 'B', 'Ctrl+B'),
  mark('italic', ACTION.italic, 'I', 'Ctrl+I'),
  mark('strike', ACTION.strike, 'S', 'Ctrl+Shift+S'),
  mark('code', ACTION.code, '‹›', 'Ctrl+E'),
  mark('highlight', ACTION.highlight, 'ab', 'Ctrl+Shift+H'),
  {
    ...{ label: ACTION.link, sign: ACTION.link, keys: 'Ctrl+K' },
    run: link,
    isOn: (editor) => editor.isActive('link'),
  },
]

export const BLOCKS: Action[] = [
  {
    ...{ label: ACTION.text, sign: '¶', keys: 'Ctrl+Alt+0', also: ACTION.textAlso },
    run: (editor) => void editor.chain().focus().setParagraph().run(),
    isOn: (editor) => editor.isActive('paragraph'),
  },
  ...([1, 2, 3] as const).map(heading),
  {
    ...{ label: ACTION.list, sign: '•', keys: 'Ctrl+Shift+8', also: ACTION.listAlso },
    run: (editor) => void editor.chain().focus().toggleBulletList().run(),
    isOn: (editor) => editor.isActive('bulletList'),
  },
  {
    ...{ label: ACTION.numbered, sign: '1.', keys: 'Ctrl+Shift+7', also: ACTION.numberedAlso },
    run: (editor) => void editor.chain().focus().toggleOrderedList().run(),
    isOn: (editor) => editor.isActive('orderedList'),
  },
  {
    ...{ label: ACTION.tasks, sign: '☑', keys: 'Ctrl+Shift+9', also: ACTION.tasksAlso },
    run: (editor) => void editor.chain().focus().toggleList('taskList', 'taskItem').run(),
    isOn: (editor) => editor.isActive('taskList'),
  },
  {
    ...{ label: ACTION.quote, sign: '❝', keys: 'Ctrl+Shift+B', also: ACTION.quoteAlso },
    run: (editor) => void editor.chain().focus().toggleBlockquote().run(),
    isOn: (editor) => editor.isActive('blockquote'),
  },
  {
    ...{ label: ACTION.codeBlock, sign: '{}', keys: 'Ctrl+Alt+C', also: ACTION.codeBlockAlso },
    run: (editor) => void editor.chain().focus().toggleCodeBlock().run(),
    isOn: (editor) => editor.isActive('codeBlock'),
  },
  {
    ...{ label: ACTION.callout, sign: '✦', also: ACTION.calloutAlso },
    run: (editor) => void editor.chain().focus().toggleWrap('callout', { type: 'note' }).run(),
    isOn: (editor) => editor.isActive('callout'),
  },
  {
    ...{ label: ACTION.toggle, sign: '▸', also: ACTION.toggleAlso },
    run: (editor) => toggleDetails(editor),
    isOn: (editor) => editor.isActive('details'),
  },
]

export const INSERTIONS: Action[] = [
  {
    ...{ label: ACTION.table, sign: '▦', also: ACTION.tableAlso },
    run: (editor) => void editor.chain().focus().insertTable({ rows: 3, cols: 3, withHeaderRow: true }).run(),
    isOn: (editor) => editor.isActive('table'),
  },
  {
    ...{ label: ACTION.rule, sign: '―', also: ACTION.ruleAlso },
    run: (editor) => void editor.chain().focus().setHorizontalRule().run(),
  },
  { ...{ label: ACTION.formula, sign: '∑', also: ACTION.formulaAlso }, run: (editor) => formula(editor, 'mathBlock') },
  { ...{ label: ACTION.inlineFormula, sign: '√', also: ACTION.inlineFormulaAlso }, run: (editor) => formula(editor, 'mathInline') },
  { ...{ label: ACTION.diagram, sign: '⇄', also: ACTION.diagramAlso }, run: insertDiagram },
  { ...{ label: ACTION.footnote, sign: '†', also: ACTION.footnoteAlso }, run: insertFootnote },
  { ...{ label: ACTION.pageLink, sign: '[[', also: ACTION.pageLinkAlso }, run: pageLink },
]

export const HISTORY: Action[] = [
  { ...{ label: ACTION.undo, sign: '↶', keys: 'Ctrl+Z' }, run: (editor) => void editor.chain().focus().undo().run() },
  { ...{ label: ACTION.redo, sign: '↷', keys: 'Ctrl+Shift+Z' }, run: (editor) => void editor.chain().focus().redo().run() },
]

const move = (label: string, sign: string, way: 'up' | 'down', keys: string): Action => ({
  ...{ label, sign, keys },
  run: (editor) => {
    const moved = step(editor.state, way)
    if (moved) editor.view.dispatch(moved.scrollIntoView())
  },
})

export const MOVES: Action[] = [
  move(ACTION.up, '⇡', 'up', 'Alt+Shift+↑'),
  move(ACTION.down, '⇣', 'down', 'Alt+Shift+↓'),
]

const table = (label: string, sign: string, name: TableCommand): Action => ({
  ...{ label, sign },
  run: (editor) => void editor.chain().focus()[name]().run(),
})
type TableCommand =
  | ('addRowBefore' | 'addRowAfter' | 'deleteRow')
  | ('addColumnBefore' | 'addColumnAfter' | 'deleteColumn' | 'deleteTable')

/** The actions with the cursor in a table. */
export const TABLE: Action[] = [
  table(ACTION.rowAbove, '↑+', 'addRowBefore'),
  table(ACTION.rowBelow, '↓+', 'addRowAfter'),
  table(ACTION.deleteRow, '−↔', 'deleteRow'),
  table(ACTION.columnBefore, '←+', 'addColumnBefore'),
  table(ACTION.columnAfter, '→+', 'addColumnAfter'),
  table(ACTION.deleteColumn, '−↕', 'deleteColumn'),
  table(ACTION.deleteTable, '✕', 'deleteTable'),
]

function insertDiagram(editor: Editor): void {
  const content = [{ type: 'text', text: DIAGRAM.sample }]
  editor.chain().focus().insertContent({ type: 'codeBlock', attrs: { language: 'mermaid' }, content }).run()
}

// As a node: a string would be parsed as HTML.
function pageLink(editor: Editor): void {
  editor.chain().focus().insertContent({ type: 'text', text: '[[' }).run()
}

/** Opens the field for the address of the link at the cursor, or of a new one for the selected words. */
export function link(editor: Editor): void {
  if (editor.state.selection.$from.parent.type.spec.code) return // code has no links
  if (!editor.isActive('link')) editor.view.dispatch(beginLink(editor.state))
  focusIn(editor.view.dom, FIRST_FIELD)
}

function formula(editor: Editor, name: 'mathBlock' | 'mathInline'): void {
  insertFormula(editor, name)
  focusIn(editor.view.dom, FIRST_FIELD)
}

function toggleDetails(editor: Editor): void {
  if (editor.isActive('details')) editor.chain().focus().unsetDetails().run()
  else editor.chain().focus().setDetails().updateAttributes('details', { open: true }).run()
}
