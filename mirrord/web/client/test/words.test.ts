// Both sides change words of one paragraph: the result has both changes, unless a person has to decide.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Block } from '../src/document/document'
import { merge } from '../src/merging/merge'
import { together } from '../src/merging/words'
import { chance, p } from './chance'

const text = (block: Block | null) => block && (block.content ?? []).map((node) => node.text ?? `<${node.type}>`).join('')
const merged = (base: string, mine: string, theirs: string) => text(together(p('1', base), p('1', mine), p('1', theirs)))
const bold = (words: string): Block => ({ type: 'text', text: words, marks: [{ type: 'bold' }] })
const line = (...content: Block[]): Block => ({ type: 'paragraph', attrs: { id: '1' }, content })
const plain = (words: string): Block => ({ type: 'text', text: words })
const code = (words: string): Block => ({ type: 'codeBlock', attrs: { id: '1', language: null }, content: [plain(words)] })

test('other words of one paragraph are both changed', () => {
  assert.equal(merged('the quick brown fox', 'the slow brown fox', 'the quick brown dog'), 'the slow brown dog')
  assert.equal(merged('the quick brown fox', 'the quick brown dog', 'the slow brown fox'), 'the slow brown dog')
  assert.equal(merged('one two three', 'one two three more', 'so one two three'), 'so one two three more')
  assert.equal(merged('one two three', 'two three', 'one two'), 'two')
})

test('several changes of each side are all there', () => {
  const base = 'the quick brown fox jumps over the lazy dog today'
  const mine = 'the slow brown fox jumps over the lazy cat today'
  assert.equal(merged(base, mine, base.replace('jumps', 'leaps')), 'the slow brown fox leaps over the lazy cat today')
  assert.equal(merged(base, mine, `${base.replace('jumps', 'leaps')} again`), 'the slow brown fox leaps over the lazy cat today again')
  assert.equal(merged('a b c d e f g', 'A b c D e f g', 'a B c d e F g'), null)
  assert.equal(merged('a b c d e f g', 'A b c d e f G', 'a b c D e f g'), 'A b c D e f G')
})

test('in a text too long to be compared word by word all between two changes of one side is one', () => {
  const words = Array.from({ length: 700 }, (_, at) => `w${at}`)
  const edit = (...places: number[]) => words.map((word, at) => (places.includes(at) ? `${word}x` : word)).join(' ')
  assert.equal(merged(words.join(' '), edit(100, 300), edit(200)), edit(100, 200, 300))
  assert.equal(merged(words.join(' '), edit(0, 699), edit(200)), null)
  assert.equal(merged(words.join(' '), edit(0, 300), edit(600)), edit(0, 300, 600))
})

test('changes that touch, or have no word between them, are for a person', () => {
  assert.equal(merged('one', 'one mine', 'one theirs'), null)
  assert.equal(merged('one two', 'uno two', 'one due'), null)
  assert.equal(merged('one two three', 'uno two three', 'one due three'), null)
  assert.equal(merged('one two three', 'one', 'one two tre'), null)
  assert.equal(merged('one, two', 'uno, two', 'one, due'), null)
})

test('a word that was put beside its like may be either of them', () => {
  assert.equal(merged('very big dog', 'very very big dog', 'not big dog'), null)
  assert.equal(merged('very big dog here', 'very very big dog here', 'very big dog there'), 'very very big dog there')
})

test('marks are changed like words', () => {
  const base = line(plain('one two three four'))
  const mine = line(bold('one'), plain(' two three four'))
  const theirs = line(plain('one two three '), bold('more'))
  assert.deepEqual(together(base, mine, theirs)!.content, [bold('one'), plain(' two three '), bold('more')])
  assert.equal(together(base, mine, line(bold('one two'), plain(' three four'))), null)
})

test('what is no text counts as a word', () => {
  const link: Block = { type: 'wikilink', attrs: { target: 'Page' } }
  const around = (before: string, behind: string) => line(plain(before), link, plain(behind))
  assert.equal(text(together(around('a ', ' b'), around('x ', ' b'), around('a ', ' y'))), 'x <wikilink> y')
})

test('in scripts without blanks words are words too', () => {
  const base = '私は学生です。彼は先生です。'
  assert.equal(merged(base, base.replace('学生', '学者'), base.replace('先生', '医者')), '私は学者です。彼は医者です。')
})

test('lines of code are changed as wholes', () => {
  assert.equal(text(together(code('a b\nc\nd e\n'), code('x b\nc\nd e\n'), code('a b\nc\nd y\n'))), 'x b\nc\nd y\n')
  assert.equal(together(code('a b c\nd\n'), code('x b c\nd\n'), code('a b y\nd\n')), null)
  assert.equal(together(code('a\n\nb\n'), code('x\n\nb\n'), code('a\n\ny\n')), null)
})

test('what changed besides the text is for a person', () => {
  const [base, mine] = [p('1', 'one two three'), p('1', 'uno two three')]
  const heading = (words: string, level = 1): Block => ({ ...p('1', words), type: 'heading', attrs: { id: '1', level } })
  const [was, one] = [heading('one two three'), heading('uno two three')]
  assert.equal(together(base, mine, heading('one two tre')), null)
  assert.equal(together(was, one, heading('one two tre', 2)), null)
  assert.equal(text(together(was, one, heading('one two tre'))), 'uno two tre')
})

test('the words of one item of a list are merged too, and a clash is none any more', () => {
  const list = (words: string): Block => ({
    ...{ type: 'bulletList', attrs: { id: 'l' } },
    content: [{ type: 'listItem', attrs: { id: 'i' }, content: [p(null, words)] }],
  })
  const [piece] = merge([list('one two three')], [list('uno two three')], [list('one two tre')])
  assert.equal(piece!.theirs, undefined)
  assert.equal(text(piece!.block.content![0]!.content![0]!), 'uno two tre')
})

test('a merged block has the id that the page gave it', () => {
  const made = together(p(null, 'one two three'), p('mine', 'uno two three'), p('page', 'one two tre'))
  assert.equal(made!.attrs!['id'], 'page')
})

test('every word that either wrote is there, and both sides make the same of it, in 2000 random cases', () => {
  let found = 0
  for (let seed = 1; seed <= 2_000; seed++) {
    const pick = chance(seed)
    const base = Array.from({ length: 1 + pick(12) }, () => 'abc'[pick(3)]!)
    const edit = (word: string) => {
      let now = base
      for (let left = 1 + pick(2); left > 0; left--) {
        const [from, count] = [pick(now.length + 1), pick(3)]
        now = [...now.slice(0, from), ...Array.from({ length: pick(3) }, () => word), ...now.slice(from + count)]
      }
      return now.join(' ')
    }
    const [was, mine, theirs] = [base.join(' '), edit('mine'), edit('theirs')]
    const now = merged(was, mine, theirs)
    assert.equal(merged(was, theirs, mine), now, `seed ${seed}`)
    if (now === null) continue
    found += 1
    const words = (side: string, word: string) => side.split(' ').filter((one) => one === word).length
    for (const word of ['a', 'b', 'c', 'mine', 'theirs'])
      assert.equal(words(now, word), words(mine, word) + words(theirs, word) - words(was, word), `seed ${seed}: ${now}`)
  }
  assert.ok(found > 400, `${found} merged`)
})
