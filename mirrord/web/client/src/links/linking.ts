// A link before it has an address: the words that it is for stay marked while the address is typed in the fields.
import { Extension } from '@tiptap/core'
import { type EditorState, Plugin, PluginKey, type Transaction } from '@tiptap/pm/state'
import { Decoration, DecorationSet } from '@tiptap/pm/view'

/** The words that get the link; an empty range gets the address itself as its words. */
export interface Words {
  from: number
  to: number
}

const KEY = new PluginKey<Words | null>('mirrordLinking')
const MAIL = /^[^\s/@:]+@[^\s/@:]+\.[^\s/@:.]+$/

export const Linking = Extension.create({
  name: 'mirrordLinking',
  addProseMirrorPlugins: () => [
    new Plugin<Words | null>({
      key: KEY,
      state: {
        init: () => null,
        apply(transaction, now) {
          const next = transaction.getMeta(KEY) as Words | null | undefined
          if (next !== undefined) return next
          return now && { from: transaction.mapping.map(now.from, 1), to: transaction.mapping.map(now.to, -1) }
        },
      },
      props: {
        decorations(state) {
          const words = wordsToLink(state)
          if (!words || words.from >= words.to) return null
          return DecorationSet.create(state.doc, [Decoration.inline(words.from, words.to, { class: 'linking' })])
        },
      },
    }),
  ],
})

/** The words that a link is being typed for. */
export const wordsToLink = (state: EditorState): Words | null => KEY.getState(state) ?? null

/** Begins a link for the selected words, or for none. */
export const beginLink = ({ tr, selection: { from, to } }: EditorState): Transaction => tr.setMeta(KEY, { from, to })

/** Ends it: with an address the words become a link, without one nothing changes. */
export function endLink(state: EditorState, typed: string): Transaction {
  const { tr, schema } = state
  const words = wordsToLink(state)
  tr.setMeta(KEY, null)
  const href = addressOf(typed)
  if (!words || !href) return tr
  const mark = schema.marks['link']!.create({ href })
  const isEmpty = words.from >= words.to
  if (isEmpty) tr.insertText(typed.trim(), words.from)
  const end = isEmpty ? words.from + typed.trim().length : words.to
  tr.removeMark(words.from, end, mark.type).addMark(words.from, end, mark)
  return tr.removeStoredMark(mark.type).setMeta('preventAutolink', true)
}

/** The address that a person means who leaves out how it begins. */
function addressOf(typed: string): string {
  const text = typed.trim()
  if (/^www\./i.test(text)) return `https://${text}`
  return MAIL.test(text) ? `mailto:${text}` : text
}
