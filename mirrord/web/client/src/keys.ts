// Keys beyond those of TipTap: to the toolbar, to the fields of a block, to the target of a link, to a clash, for moves.
import { type Editor, Extension } from '@tiptap/core'
import type { EditorView } from '@tiptap/pm/view'
import { MOVES } from './actions'

export const Keys = Extension.create({
  name: 'mirrordKeys',
  priority: 1000, // before TipTap's line break on Ctrl+Enter
  addKeyboardShortcuts() {
    const part = (selector: string) => () => focusOn(this.editor.view, selector)
    return {
      'Alt-F10': part('.toolbar button[tabindex="0"]'),
      'Alt-Enter': part('.inspector:not([hidden]) :is(input, textarea, select)'),
      'Mod-Enter': part('.inspector:not([hidden]) button.open'),
      'Alt-F9': part('.clash button'),
      'Alt-Shift-ArrowUp': () => moved(this.editor, 0),
      'Alt-Shift-ArrowDown': () => moved(this.editor, 1),
      'Mod-k': () => focusOn(this.editor.view, '.toolbar [aria-label="Link"]', true),
    }
  },
})

function moved(editor: Editor, which: 0 | 1): true {
  MOVES[which]!.run(editor)
  return true
}

/** Focuses or clicks the element of *selector* in the editor; false: there is none. */
function focusOn(view: EditorView, selector: string, isClick = false): boolean {
  const found = view.dom.closest('.mirrord-editor')?.querySelector<HTMLElement>(selector)
  if (!found) return false
  if (isClick) found.click()
  else found.focus()
  return true
}
