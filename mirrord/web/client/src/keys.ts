// Keys beyond those of TipTap: to the toolbar, to what belongs to a block, along a link, below the last block.
import { Extension } from '@tiptap/core'
import type { EditorView } from '@tiptap/pm/view'

export const Keys = Extension.create({
  name: 'mirrordKeys',
  priority: 1000, // before the line break that Ctrl+Enter is elsewhere
  addKeyboardShortcuts() {
    const part = (selector: string) => () => focusOn(this.editor.view, selector)
    return {
      'Alt-F10': part('.toolbar button[tabindex="0"]'),
      'Alt-Enter': part('.inspector:not([hidden]) :is(input, textarea, select)'),
      'Mod-Enter': part('.inspector:not([hidden]) button.open'),
      'Alt-F9': part('.clash button'),
      'Mod-k': () => focusOn(this.editor.view, '.toolbar [aria-label="Link"]', true),
    }
  },
})

/** Focus, or click, what *selector* finds in the editor; false: there is nothing. */
function focusOn(view: EditorView, selector: string, isClick = false): boolean {
  const found = view.dom.closest('.mirrord-editor')?.querySelector<HTMLElement>(selector)
  if (!found) return false
  if (isClick) found.click()
  else found.focus()
  return true
}
