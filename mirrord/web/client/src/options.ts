// The interface between the editor and the page that contains it.
import type { Content } from './document/document'

/** A page as the server sends it; further keys are ignored. content: null until it is derived. */
export interface Page {
  id: string
  version: number
  content: Content | null
  markdown: string
}

export interface Completion {
  id: string
  title: string
  path: string
  icon: string | null
  /** The text between `[[` and `]]`. */
  target: string
}

export interface Preview {
  title: string
  /** The beginning of the page as a person reads it. */
  body: Node[]
}

/** A link of the page that leads to no page: kind is wikilink, embed or markdown, target without the part after `#`. */
export interface Unresolved {
  kind: string
  target: string
}

/** typing: changed since the last save. refused, clash: a person has to act; the sentence says how. */
export type State = 'saved' | 'typing' | 'saving' | 'offline' | 'refused' | 'clash'

/** The new version; the current page, if it changed; or the reason why Markdown cannot store the document. */
export type Saved = { version: number } | { page: Page } | { sentence: string }

export interface Options {
  page: Page
  /** The last value of `keep` for this page, from an editor that ended before everything was saved. */
  kept?: string | null
  /** Whether the page is only shown. */
  readonly?: boolean
  /** Whether a place far down is shown first. */
  isFar?: boolean
  /** Rejects if the server is out of reach. */
  save(content: Content, version: number): Promise<Saved>
  upload(file: File): Promise<{ src: string }>
  /** The document that a text of Markdown says. */
  convert(markdown: string): Promise<Content>
  complete(query: string): Promise<Completion[]>
  preview(target: string): Promise<Preview | null>
  /** Follows a link: the target of a wikilink, or a path relative to the page. */
  open(target: string): void
  /** The URL of the bytes of an image with this `src`. */
  fileUrl(src: string): string
  onState(state: State, sentence?: string): void
  /** Keeps a text for `kept`; null: everything is saved. */
  keep(text: string | null): void
}

export interface Editor {
  /** Called with a version that was made elsewhere or by a save. Unsaved changes stay. */
  update(page: Page): void
  unsaved(): boolean
  /** Resolves when unsaved changes were saved or refused, or the server was out of reach. */
  saveNow(): Promise<void>
  focus(): void
  /** Scrolls to what the part of a link after `#` names. */
  reveal(fragment: string): void
  /** Called with the links that lead to no page, whenever these may have changed. */
  showUnresolved(links: Unresolved[]): void
  destroy(): void
}
