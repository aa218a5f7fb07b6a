// Keys beyond those of TipTap: to the toolbar, to the fields of a block, to the target of a link, to a clash, for moves.
import { type Editor, Extension } from '@tiptap/core'
import { Plugin } from '@tiptap/pm/state'
import type { EditorView } from '@tiptap/pm/view'
import { MOVES, link } from '../menus/actions'
import { FIRST_FIELD, focusIn } from '../dom'
import { crossFootnote } from './footnotes'

export const Keys = Extension.create({
  name: 'mirrordKeys',
  priority: 1000, // before TipTap's line break on Ctrl+Enter
  addKeyboardShortcuts() {
    const part = (selector: string) => () => focusIn(this.editor.view.dom, selector)
    return {
      'Alt-F10': part('.toolbar button[tabindex="0"]'),
      'Alt-Enter': part(FIRST_FIELD),
      'Mod-Enter': () => opened(this.editor) || crossFootnote(this.editor) || ticked(this.editor),
      'Alt-F9': part('.clash button'),
      'Alt-Shift-ArrowUp': () => moved(this.editor, 0),
      'Alt-Shift-ArrowDown': () => moved(this.editor, 1),
      'Mod-k': () => {
        link(this.editor)
        return true
      },
    }
  },
  addProseMirrorPlugins: () => [new Plugin({ props: { handleDOMEvents: { keydown: caughtUp } } })],
})

/** Takes over where the browser's cursor is, which it tells late on a busy machine: a key acts at the cursor that is seen. */
function caughtUp(view: EditorView, event: KeyboardEvent): false {
  if (!event.isComposing && !view.composing) catchUp(view)
  return false
}

/** Takes over what the browser typed and where its cursor is. */
export const catchUp = (view: EditorView): void => (view as unknown as Observed).domObserver.flush()

/** What ProseMirror does not declare. */
interface Observed {
  domObserver: { flush(): void }
}

function moved(editor: Editor, which: 0 | 1): true {
  MOVES[which]!.run(editor)
  return true
}

/** Opens the link at the cursor. */
function opened({ view }: Editor): boolean {
  const open = view.dom.closest('.mirrord-editor')?.querySelector<HTMLElement>('.inspector:not([hidden]) button.open')
  open?.click()
  return open !== null && open !== undefined
}

/** Ticks the task at the cursor, or unticks it. */
function ticked(editor: Editor): boolean {
  if (!editor.isActive('taskItem')) return false
  return editor.commands.updateAttributes('taskItem', { checked: !editor.getAttributes('taskItem')['checked'] })
}
