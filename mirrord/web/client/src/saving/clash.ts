// Clashes: blocks that were changed here and elsewhere. Both versions are shown, and a person chooses.
import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { type EditorState, Plugin, PluginKey, type Transaction } from '@tiptap/pm/state'
import { Decoration, DecorationSet, type EditorView } from '@tiptap/pm/view'
import { type Block, blocksOf, idOf, meaning } from '../document/document'
import { button, element } from '../dom'
import { rendered } from '../views/rendered'
import { CLASH } from '../words'

/** The page's version of a block, by the id of the block. */
type Clashes = ReadonlyMap<string, Block>

const KEY = new PluginKey<Clashes>('mirrordClashes')

export const Clashing = Extension.create({
  name: 'mirrordClashes',
  addProseMirrorPlugins: () => [
    new Plugin<Clashes>({
      key: KEY,
      state: {
        init: () => new Map(),
        apply: (transaction, known) => living(transaction, transaction.getMeta(KEY) ?? known),
      },
      props: { decorations: (state) => DecorationSet.create(state.doc, [...shown(state)]) },
    }),
  ],
})

/** The clashes of an open document. */
export function clashesOf(state: EditorState): Clashes {
  return KEY.getState(state) ?? new Map()
}

/** Replaces the clashes by *clashes* with *transaction*. */
export function setClashes(transaction: Transaction, clashes: Clashes): void {
  transaction.setMeta(KEY, clashes)
}

/** The blocks of the document, with the page's version of those in a clash. */
export function undecided(state: EditorState): Block[] {
  const clashes = clashesOf(state)
  return blocksOf(state.doc).map((block) => clashes.get(idOf(block) ?? '') ?? block)
}

/** Marks the transaction of a person's choice. */
export const DECIDED = 'mirrordDecided'

/** The known clashes that remain, with the page's versions of *theirs*, while the open document has *mine*. */
export function stillClashing(known: Clashes, mine: Block[], theirs: Block[]): Map<string, Block> {
  const own = new Map(mine.map((block) => [idOf(block), block]))
  const left = new Map<string, Block>()
  for (const block of theirs) {
    const id = idOf(block)
    const other = own.get(id)
    if (id !== null && known.has(id) && other && meaning(other) !== meaning(block)) left.set(id, block)
  }
  return left
}

function living(transaction: Transaction, known: Clashes): Clashes {
  if (!known.size || !transaction.docChanged) return known
  const ids = new Set(blocksOf(transaction.doc).map(idOf))
  return new Map([...known].filter(([id]) => ids.has(id)))
}

function* shown(state: EditorState): Iterable<Decoration> {
  const clashes = clashesOf(state)
  if (!clashes.size) return
  let at = 0
  for (const node of state.doc.children) {
    const theirs = clashes.get((node.attrs['id'] as string | null) ?? '')
    if (theirs) yield* around(node, at, theirs)
    at += node.nodeSize
  }
}

function* around(node: Node, at: number, theirs: Block): Iterable<Decoration> {
  yield Decoration.node(at, at + node.nodeSize, { class: 'mine' })
  yield Decoration.widget(at + node.nodeSize, (view) => choice(view, node.attrs['id'] as string, theirs), {
    key: `${node.attrs['id']} ${JSON.stringify(theirs)}`,
    destroy: (dom) => endings.get(dom)?.(),
    side: -1,
    stopEvent: () => true,
    ignoreSelection: true,
  })
}

const endings = new WeakMap<globalThis.Node, () => void>()

function choice(view: EditorView, id: string, theirs: Block): HTMLElement {
  const shown = rendered(theirs, view)
  const decide = (how: Decision) => () => {
    view.dispatch(decided(view.state, id, theirs, how))
    view.focus()
  }
  const label = CLASH.sentence
  const made = element(
    'div',
    { class: 'clash', contenteditable: 'false', role: 'group', 'aria-label': CLASH.label },
    element('p', {}, label),
    element('div', { class: 'theirs' }, shown.dom),
    element(
      'div',
      { class: 'choices' },
      button(CLASH.mine, decide('mine')),
      button(CLASH.theirs, decide('theirs')),
      button(CLASH.both, decide('both')),
    ),
  )
  endings.set(made, () => shown.destroy())
  return made
}

type Decision = 'mine' | 'theirs' | 'both'

function decided(state: EditorState, id: string, theirs: Block, how: Decision): Transaction {
  const transaction = state.tr.setMeta(DECIDED, true)
  setClashes(transaction, new Map([...clashesOf(state)].filter(([other]) => other !== id)))
  let at = 0
  for (const node of state.doc.children) {
    if (node.attrs['id'] === id && how !== 'mine') {
      const other = state.schema.nodeFromJSON(theirs)
      if (how === 'theirs') transaction.replaceWith(at, at + node.nodeSize, other)
      else transaction.insert(at + node.nodeSize, other)
    }
    at += node.nodeSize
  }
  return transaction
}
