// What the page that holds the editor gives to it, and what it gets.
import type { Content } from './document'

/** A page as the server tells of it; more may be there. content: null while it is being derived. */
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
  /** What to write between `[[` and `]]`. */
  target: string
}

export interface Preview {
  title: string
  text: string
}

/** typing: changed since the last save. refused, clash: a person has to do something, which the sentence says. */
export type State = 'saved' | 'typing' | 'saving' | 'offline' | 'refused' | 'clash'

/** The new version; or the page as it is now, since it changed; or why Markdown cannot hold the document. */
export type Saved = { version: number } | { page: Page } | { sentence: string }

export interface Options {
  page: Page
  /** What `keep` was given last for this page, by an editor that ended before all was saved. */
  kept?: string | null
  /** Rejects when the server is out of reach. */
  save(content: Content, version: number): Promise<Saved>
  upload(file: File): Promise<{ src: string }>
  complete(query: string): Promise<Completion[]>
  preview(target: string): Promise<Preview | null>
  /** A link was followed: a wikilink's target, or a path relative to the page. */
  open(target: string): void
  /** Where the bytes are that an image with this `src` shows. */
  fileUrl(src: string): string
  onState(state: State, sentence?: string): void
  /** A text that `kept` takes, or null: all is saved. */
  keep(text: string | null): void
}

export interface Editor {
  /** The page changed elsewhere, or is what was saved. What is not saved here stays. */
  update(page: Page): void
  unsaved(): boolean
  /** Resolves when what is unsaved now was saved, refused or found unreachable. */
  saveNow(): Promise<void>
  focus(): void
  destroy(): void
}
