// The console's editor: opens the document of a page in TipTap, saves it, and merges changes from elsewhere.
import type { Editor as TipTap } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { EditorState, Selection } from '@tiptap/pm/state'
import { apply } from './merging/apply'
import { DECIDED, clashesOf, setClashes, stillClashing, undecided } from './saving/clash'
import { type Block, type Content, blocksOf, idOf, opened, spoken, written } from './document/document'
import { ELSEWHERE } from './saving/elsewhere'
import { whenIdle } from './dom'
import { placeOfFragment } from './document/headings'
import { identified } from './document/ids'
import { merge } from './merging/merge'
import type { Editor, Options, Page } from './options'
import { type Kept, keptOf } from './saving/kept'
import { type Desk, Saving } from './saving/saving'
import styles from './style.css'
import { showUnresolved } from './links/unresolved'
import { prepareNext, takePrepared } from './prepared'
import { layOut } from './views/sight'
import { CLASH } from './words'

export type { Completion, Editor, Options, Page, Preview, Saved, State, Unresolved } from './options'

const RESTING = 300 // ms after a page was left, before its editor ends

/** Shows the page of *options* in *element* for editing. */
export function mount(host: HTMLElement, options: Options): Editor {
  dressed(host.ownerDocument)
  const own = takePrepared(Boolean(options.readonly))
  const { tiptap, surface } = own
  Object.assign(own.options, options)
  const desk = deskOf(tiptap, options)
  const kept = options.kept ? keptOf(options.kept) : null
  const content = options.page.content ?? { type: 'doc', content: [] }
  begin(tiptap, kept, content)
  const base = () => kept?.base ?? desk.blocksOf(content)
  const saving = new Saving(desk, base, kept?.version ?? options.page.version, kept !== null)
  host.classList.add('mirrord-editor')
  host.replaceChildren(...own.parts)
  const sight = layOut(tiptap.view, surface, options.isFar ?? false)
  prepareNext(Boolean(options.readonly))
  const editor = living(tiptap, saving, options, kept !== null)
  return { ...editor, destroy: () => (editor.destroy(), sight.abort(), leave(host, tiptap)) }
}

/** The document of a kept text; null: a person has to choose between versions of its blocks first. */
export function keptContent(text: string): Content | null {
  const kept = keptOf(text)
  return Object.keys(kept.clashes).length ? null : written(kept.mine)
}

/** Puts the page into the editor, so that it is drawn once, and gives ids to the blocks that have none. */
function begin(tiptap: TipTap, kept: Kept | null, content: Content): void {
  const { schema, state } = tiptap
  const doc: Node = kept ? schema.nodeFromJSON({ type: 'doc', content: kept.mine }) : opened(content, schema)
  const selection = Selection.findFrom(doc.resolve(0), 1, true) ?? Selection.atStart(doc) // no block that a click would select
  tiptap.view.updateState(EditorState.create({ doc, plugins: [...state.plugins], selection }))
  const transaction = identified(tiptap.state.tr)
  if (kept) setClashes(transaction, new Map(Object.entries(kept.clashes)))
  tiptap.view.dispatch(transaction.setMeta('addToHistory', false).setMeta(ELSEWHERE, true)) // also for the toolbar to see
}

function living(tiptap: TipTap, saving: Saving, options: Options, isKept: boolean): Editor {
  tiptap.on('transaction', ({ transaction, appendedTransactions }) => {
    const all = [transaction, ...appendedTransactions]
    if (!transaction.getMeta(ELSEWHERE) && all.some((each) => each.docChanged || each.getMeta(DECIDED)))
      saving.changed()
  })
  const retry = () => void saving.now()
  const hideAway = () => {
    saving.hold()
    void saving.now()
  }
  const hide = () => void (document.hidden && saving.hold())
  window.addEventListener('online', retry)
  window.addEventListener('pagehide', hideAway)
  document.addEventListener('visibilitychange', hide)
  if (!isKept) options.onState('saved')
  else if (options.page.content) saving.arrived(options.page)
  else saving.changed()
  return {
    update: (page) => saving.arrived(page),
    unsaved: () => saving.unsaved(),
    saveNow: () => saving.now(),
    focus: () => void tiptap.commands.focus(),
    reveal: (fragment) => requestAnimationFrame(() => setTimeout(() => reveal(tiptap, fragment))), // once all is laid out
    showUnresolved: (links) => showUnresolved(tiptap.view, links),
    destroy() {
      saving.end()
      window.removeEventListener('online', retry)
      window.removeEventListener('pagehide', hideAway)
      document.removeEventListener('visibilitychange', hide)
    },
  }
}

/** Takes the editor out of *host*, and ends it when the browser rests: the next page is shown before. */
function leave(host: HTMLElement, tiptap: TipTap): void {
  host.replaceChildren()
  host.classList.remove('mirrord-editor')
  setTimeout(() => whenIdle(() => tiptap.destroy()), RESTING)
}

function reveal({ view }: TipTap, fragment: string): void {
  const at = view.isDestroyed ? null : placeOfFragment(view.state.doc, fragment)
  if (at === null) return
  view.dispatch(view.state.tr.setSelection(Selection.near(view.state.doc.resolve(at + 1))))
  if (view.nodeDOM(at) instanceof HTMLElement) (view.nodeDOM(at) as HTMLElement).scrollIntoView({ block: 'start' })
}

function deskOf(tiptap: TipTap, options: Options): Desk {
  return {
    blocks: () => spoken(undecided(tiptap.state)),
    blocksOf: (content) => spoken(blocksOf(opened(content, tiptap.schema))),
    merge: (base, page) => merged(tiptap, base, page),
    unsettled: () => ({ mine: blocksOf(tiptap.state.doc), clashes: Object.fromEntries(clashesOf(tiptap.state)) }),
    clash: () => clashSentence(clashesOf(tiptap.state).size),
    save: options.save,
    onState: options.onState,
    keep: options.keep,
  }
}

const clashSentence = (count: number): string | null => (count ? CLASH.count(count) : null)

function merged(tiptap: TipTap, base: Block[], page: Page): void {
  const { state, schema } = tiptap
  const [mine, theirs] = [blocksOf(state.doc), spoken(blocksOf(opened(page.content!, schema)))]
  const pieces = merge(base, mine, theirs)
  const clashes = stillClashing(clashesOf(state), mine, theirs)
  for (const piece of pieces) {
    const id = idOf(piece.block)
    if (piece.theirs && id !== null) clashes.set(id, piece.theirs)
  }
  const transaction = state.tr.setMeta('addToHistory', false).setMeta(ELSEWHERE, true).setMeta('preventAutolink', true)
  apply(transaction, pieces)
  setClashes(transaction, clashes)
  tiptap.view.dispatch(transaction)
}

const dress = new WeakMap<Document, CSSStyleSheet>()

/** Gives *page* the styles of the editor, once: each sheet is looked through for every element. */
function dressed(page: Document): void {
  if (dress.has(page)) return
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(styles)
  dress.set(page, sheet)
  page.adoptedStyleSheets = [...page.adoptedStyleSheets, sheet]
}
