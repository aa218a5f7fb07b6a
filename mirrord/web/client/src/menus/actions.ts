// The actions on the text, for the toolbar and for the menu that `/` opens.
import type { Editor } from '@tiptap/core'
import { FIRST_FIELD, focusIn } from '../dom'
import { insertFootnote } from '../typing/footnotes'
import { insertFormula } from '../typing/formula'
import { beginLink } from '../links/linking'
import { step } from '../moving/moving'

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
  label: `Heading ${level}`,
  sign: `H${level}`,
  keys: `Ctrl+Alt+${level}`,
  also: `h${level} title`,
  run: (editor) => void editor.chain().focus().toggleHeading({ level }).run(),
  isOn: (editor) => editor.isActive('heading', { level }),
})

export const MARKS: Action[] = [
  mark('bold', 'Bold', 'B', 'Ctrl+B'),
  mark('italic', 'Italic', 'I', 'Ctrl+I'),
  mark('strike', 'Struck through', 'S', 'Ctrl+Shift+S'),
  mark('code', 'Code', '‹›', 'Ctrl+E'),
  mark('highlight', 'Highlighted', 'H', 'Ctrl+Shift+H'),
  {
    ...{ label: 'Link', sign: 'Link', keys: 'Ctrl+K' },
    run: link,
    isOn: (editor) => editor.isActive('link'),
  },
]

export const BLOCKS: Action[] = [
  {
    ...{ label: 'Text', sign: '¶', keys: 'Ctrl+Alt+0', also: 'paragraph plain' },
    run: (editor) => void editor.chain().focus().setParagraph().run(),
    isOn: (editor) => editor.isActive('paragraph'),
  },
  ...([1, 2, 3] as const).map(heading),
  {
    ...{ label: 'List', sign: '•', keys: 'Ctrl+Shift+8', also: 'bullet unordered ul' },
    run: (editor) => void editor.chain().focus().toggleBulletList().run(),
    isOn: (editor) => editor.isActive('bulletList'),
  },
  {
    ...{ label: 'Numbered list', sign: '1.', keys: 'Ctrl+Shift+7', also: 'ordered ol 1.' },
    run: (editor) => void editor.chain().focus().toggleOrderedList().run(),
    isOn: (editor) => editor.isActive('orderedList'),
  },
  {
    ...{ label: 'Tasks', sign: '☑', keys: 'Ctrl+Shift+9', also: 'todo to-do check checkbox checklist' },
    run: (editor) => void editor.chain().focus().toggleList('taskList', 'taskItem').run(),
    isOn: (editor) => editor.isActive('taskList'),
  },
  {
    ...{ label: 'Quote', sign: '❝', keys: 'Ctrl+Shift+B', also: 'blockquote citation' },
    run: (editor) => void editor.chain().focus().toggleBlockquote().run(),
    isOn: (editor) => editor.isActive('blockquote'),
  },
  {
    ...{ label: 'Code block', sign: '{}', keys: 'Ctrl+Alt+C', also: 'snippet pre' },
    run: (editor) => void editor.chain().focus().toggleCodeBlock().run(),
    isOn: (editor) => editor.isActive('codeBlock'),
  },
  {
    ...{ label: 'Callout', sign: '✦', also: 'note info tip warning admonition' },
    run: (editor) => void editor.chain().focus().toggleWrap('callout', { type: 'note' }).run(),
    isOn: (editor) => editor.isActive('callout'),
  },
  {
    ...{ label: 'Toggle', sign: '▸', also: 'collapse fold details' },
    run: (editor) => toggleDetails(editor),
    isOn: (editor) => editor.isActive('details'),
  },
]

export const INSERTIONS: Action[] = [
  {
    ...{ label: 'Table', sign: '▦', also: 'grid spreadsheet' },
    run: (editor) => void editor.chain().focus().insertTable({ rows: 3, cols: 3, withHeaderRow: true }).run(),
    isOn: (editor) => editor.isActive('table'),
  },
  {
    ...{ label: 'Rule', sign: '―', also: 'divider line separator hr' },
    run: (editor) => void editor.chain().focus().setHorizontalRule().run(),
  },
  { ...{ label: 'Formula', sign: '∑', also: 'math equation latex' }, run: (editor) => formula(editor, 'mathBlock') },
  { ...{ label: 'Formula in the line', sign: '√', also: 'inline math equation latex' }, run: (editor) => formula(editor, 'mathInline') },
  { ...{ label: 'Footnote', sign: '†', also: 'note reference' }, run: insertFootnote },
  { ...{ label: 'Link to a page', sign: '[[', also: 'wikilink mention [[' }, run: pageLink },
]

export const HISTORY: Action[] = [
  { ...{ label: 'Undo', sign: '↶', keys: 'Ctrl+Z' }, run: (editor) => void editor.chain().focus().undo().run() },
  { ...{ label: 'Redo', sign: '↷', keys: 'Ctrl+Shift+Z' }, run: (editor) => void editor.chain().focus().redo().run() },
]

const move = (label: string, sign: string, way: 'up' | 'down', keys: string): Action => ({
  ...{ label, sign, keys },
  run: (editor) => {
    const moved = step(editor.state, way)
    if (moved) editor.view.dispatch(moved.scrollIntoView())
  },
})

export const MOVES: Action[] = [
  move('Move the block up', '⇡', 'up', 'Alt+Shift+↑'),
  move('Move the block down', '⇣', 'down', 'Alt+Shift+↓'),
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
  table('Row above', '↑+', 'addRowBefore'),
  table('Row below', '↓+', 'addRowAfter'),
  table('Delete row', '−↔', 'deleteRow'),
  table('Column before', '←+', 'addColumnBefore'),
  table('Column after', '→+', 'addColumnAfter'),
  table('Delete column', '−↕', 'deleteColumn'),
  table('Delete table', '✕', 'deleteTable'),
]

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
