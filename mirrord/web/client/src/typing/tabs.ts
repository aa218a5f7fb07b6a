// The Tab key: indents code and items, goes to the next cell, and leaves the text after Escape only.
import { type Editor, Extension } from '@tiptap/core'
import { type EditorState, Plugin, type Transaction } from '@tiptap/pm/state'
import type { EditorView } from '@tiptap/pm/view'
import { goToCell } from '../tables/cells'
import { catchUp } from './keys'

const USUAL_UNIT = '    ' // of code without an indented line

export const Tabs = Extension.create<object, { isLeaving: boolean }>({
  name: 'mirrordTabs',
  addStorage: () => ({ isLeaving: false }), // after Escape, until another key or click; not ended by changes elsewhere
  addKeyboardShortcuts() {
    const escape = () => {
      this.storage.isLeaving = true
      return false
    }
    return { Tab: () => pressed(this.editor, 1), 'Shift-Tab': () => pressed(this.editor, -1), Escape: escape }
  },
  addProseMirrorPlugins() {
    // What returns true here is the browser's alone, which goes to the next element of the window.
    const keydown = (_: EditorView, event: KeyboardEvent) => {
      const isLeaving = event.key === 'Tab' && this.storage.isLeaving
      if (event.key !== 'Shift') this.storage.isLeaving = false
      return isLeaving
    }
    const mousedown = () => (this.storage.isLeaving = false)
    return [new Plugin({ props: { handleDOMEvents: { keydown, mousedown, beforeinput: typedTab } } })]
  },
})

/** Types a text with a tab that no key made, as dictation does: the browser would style it, which the page's policy refuses. */
function typedTab(view: EditorView, event: InputEvent): boolean {
  if (event.inputType !== 'insertText' || !event.data?.includes('\t') || view.composing || !view.editable) return false
  event.preventDefault()
  catchUp(view)
  view.dispatch(view.state.tr.insertText(event.data).scrollIntoView())
  return true
}

/** Tab or, with -1, Shift+Tab. Where there is nothing to indent it does nothing: what is typed next stays in the text. */
function pressed(editor: Editor, way: 1 | -1): true {
  const { state, commands } = editor
  const holder = holderOf(state)
  if (holder === 'code') editor.view.dispatch(indented(state, way).scrollIntoView())
  else if (holder === 'cell') goToCell(editor, way)
  else if (holder !== null) void (way > 0 ? commands.sinkListItem(holder) : commands.liftListItem(holder))
  return true
}

/** The innermost of the blocks around the cursor that has a use for Tab. */
function holderOf({ selection: { $from, $to } }: EditorState): 'code' | 'cell' | 'listItem' | 'taskItem' | null {
  if ($from.parent.type.spec.code) return $from.sameParent($to) ? 'code' : null
  for (let depth = $from.depth; depth > 0; depth--) {
    const { name, spec } = $from.node(depth).type
    if (name === 'listItem' || name === 'taskItem') return name
    if (String(spec['tableRole']).endsWith('cell')) return 'cell'
  }
  return null
}

/** The selected lines of code, indented or outdented by one unit; a cursor in its line goes to the next stop. */
function indented({ tr, selection: { $from, $to, empty } }: EditorState, way: 1 | -1): Transaction {
  const text = $from.parent.textContent
  const unit = unitOf(text)
  const begin = text.slice(0, $from.parentOffset).lastIndexOf('\n') + 1
  if (empty && way > 0) return tr.insertText(unit === '\t' ? unit : unit.slice(($from.parentOffset - begin) % unit.length))
  for (const at of startsOf(text, begin, $to.parentOffset).reverse()) {
    const blanks = new RegExp(`^(\t| {0,${unit.length}})`).exec(text.slice(at))![0]
    if (way < 0) tr.delete($from.start() + at, $from.start() + at + blanks.length)
    else if (/[^\n]/.test(text.charAt(at))) tr.insertText(unit, $from.start() + at)
  }
  return tr
}

/** Where the lines begin that a range touches. */
function startsOf(text: string, begin: number, end: number): number[] {
  const starts = [begin]
  for (let at = text.indexOf('\n', begin); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** What a text indents by: a tab if a line begins with one, else the fewest blanks that a line begins with. */
function unitOf(text: string): string {
  if (/^\t/m.test(text)) return '\t'
  const widths = Array.from(text.matchAll(/^ {2,}(?=\S)/gm), ([blanks]) => blanks.length)
  return widths.length ? ' '.repeat(Math.min(...widths, 8)) : USUAL_UNIT
}
