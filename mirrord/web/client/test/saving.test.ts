// Typed text is kept soon, not at every key, and at once when the page may be closed.
import assert from 'node:assert/strict'
import { beforeEach, mock, test } from 'node:test'
import type { Block } from '../src/document/document'
import type { Saved } from '../src/options'
import { keptOf, keptText } from '../src/saving/kept'
import { type Desk, Saving } from '../src/saving/saving'
import { p } from './chance'

const BASE = [p('1', '')]

/** A desk with a text as its document, and the texts that it was asked to keep. */
class Typed implements Desk {
  text = ''
  kept: (string | null)[] = []
  clashing: string | null = null
  answer: () => Promise<Saved> = () => Promise.reject(new Error('out of reach'))
  blocks = (): Block[] => [p('1', this.clashing === null ? this.text : '')]
  merge = () => undefined
  blocksOf = () => BASE
  clash = () => this.clashing
  unsettled = () => ({ mine: [p('1', this.text)], clashes: {} })
  save = () => this.answer()
  onState = () => undefined
  keep = (text: string | null) => void this.kept.push(text)

  type(saving: Saving, words: string): void {
    for (const letter of words) {
      this.text += letter
      saving.changed()
      mock.timers.tick(10)
    }
  }

  held = () => keptOf(this.kept.at(-1)!).mine[0]!.content![0]!.text
}

const begun = (desk: Desk) => new Saving(desk, () => BASE, 1, false)

beforeEach(() => {
  mock.timers.reset()
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
})

test('keys that follow each other are held together', () => {
  const desk = new Typed()
  desk.type(begun(desk), 'what is typed in half a second, letter by letter..')
  assert.equal(desk.kept.length, 1)
  mock.timers.tick(100)
  assert.equal(desk.kept.length, 2)
  assert.equal(desk.held(), desk.text)
})

test('what is typed in a block with two versions is held together too', () => {
  const desk = new Typed()
  desk.clashing = 'A block was changed here and elsewhere.'
  desk.type(begun(desk), 'mine')
  assert.equal(desk.kept.length, 0)
  mock.timers.tick(300)
  assert.equal(desk.held(), 'mine')
})

test('a window that goes away, and an editor that ends, hold the last key', () => {
  for (const leave of ['hold', 'end'] as const) {
    const desk = new Typed()
    const saving = begun(desk)
    desk.type(saving, 'x')
    saving[leave]()
    assert.equal(desk.held(), 'x')
  }
})

test('what was saved is held no more', async () => {
  const desk = new Typed()
  const saving = begun(desk)
  desk.answer = () => Promise.resolve({ version: 2 })
  desk.type(saving, 'words')
  saving.hold()
  await saving.now()
  assert.equal(desk.kept.at(-1), null)
  mock.timers.tick(1_000)
  assert.equal(desk.kept.at(-1), null)
})

test('what is kept is read as it was, and names blocks that did not change by their numbers', () => {
  const [one, two, other] = [p('1', 'one'), p('2', 'two'), p('3', 'other')]
  const kept = { version: 7, base: [one, two], mine: [two, other, one, one], clashes: { 3: p('3', 'theirs') } }
  assert.deepEqual(keptOf(keptText(kept)), kept)
  assert.match(keptText(kept), /"mine":\[1,\{.*"other".*\},0,0\]/)
  assert.deepEqual(keptOf(JSON.stringify(kept)), kept) // as an earlier version kept it
})

test('a long text is kept less often', () => {
  const desk = new Typed()
  desk.text = 'x'.repeat(5_000_000)
  const saving = begun(desk)
  saving.hold()
  desk.type(saving, 'y')
  saving.hold()
  desk.type(saving, 'z')
  const { length } = desk.kept
  mock.timers.tick(1_500)
  assert.equal(desk.kept.length, length)
  mock.timers.tick(1_500)
  assert.equal(desk.kept.length, length + 1)
})
