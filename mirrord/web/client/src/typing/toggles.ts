// Enter in a toggle: from its title into it, and from an empty last paragraph out of it.
import { type Editor, Extension, findParentNode } from '@tiptap/core'
import { TextSelection } from '@tiptap/pm/state'

export const Toggles = Extension.create({
  name: 'mirrordToggles',
  addKeyboardShortcuts() {
    return { Enter: () => enter(this.editor) || leave(this.editor) }
  },
})

/** From the end of the title into the empty paragraph that the toggle begins with, where TipTap would make a second one. */
function enter({ state, view }: Editor): boolean {
  const { $head, empty } = state.selection
  if (!empty || $head.parent.type.name !== 'detailsSummary' || $head.parentOffset < $head.parent.content.size) return false
  const inside = $head.after() + 2
  const first = state.doc.nodeAt($head.after())?.firstChild
  const isOpen = (view.domAtPos(inside).node as HTMLElement).offsetParent !== null
  if (!isOpen || first?.type.name !== 'paragraph' || first.content.size) return false
  view.dispatch(state.tr.setSelection(TextSelection.create(state.doc, inside)).scrollIntoView())
  return true
}

/** Out of the toggle, into a paragraph below it; the empty one is removed unless it is all that the toggle holds. */
function leave({ state, view }: Editor): boolean {
  const { $head, empty } = state.selection
  const holder = findParentNode((node) => node.type.name === 'detailsContent')(state.selection)
  if (!empty || !holder || $head.depth !== holder.depth + 1) return false
  if ($head.parent.type.name !== 'paragraph' || $head.parent.content.size || $head.index(-1) + 1 < holder.node.childCount) return false
  const { tr } = state
  if (holder.node.childCount > 1) tr.delete($head.before(), $head.after())
  const behind = tr.mapping.map($head.after(holder.depth - 1))
  tr.insert(behind, state.schema.nodes['paragraph']!.create())
  view.dispatch(tr.setSelection(TextSelection.create(tr.doc, behind + 1)).scrollIntoView())
  return true
}
