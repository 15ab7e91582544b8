import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { lineDiff } from '../../src/fs/line-diff.ts'
import { applyUnifiedDiff } from './apply-unified-diff.ts'

const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
  .chain((lines) => fc.constantFrom('', '\n').map((end) => lines.join('\n') + end))

describe('a diff of two versions', () => {
  it('leads from one to the other', () => {
    fc.assert(fc.property(text, text, (before, after) => {
      const diff = lineDiff('f', Buffer.from(before), Buffer.from(after))
      expect(applyUnifiedDiff(before, diff)).toBe(after)
    }), { numRuns: thoroughly(300, 20_000) })
  })

  it('shows each changed place of a long file', () => {
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}\n`)
    const after = lines.with(10, 'ten\n').with(80, 'eighty\n')
    const diff = lineDiff('f', Buffer.from(lines.join('')), Buffer.from(after.join('')))
    expect(diff.match(/^@@/gm)).toHaveLength(2)
    expect(diff.match(/^[-+]/gm)).toHaveLength(6)
  })

  it('names a missing file, and does not show binary content', () => {
    expect(lineDiff('f', undefined, Buffer.from('new\n'))).toBe('--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n')
    expect(lineDiff('f', Buffer.from('old\n'), undefined)).toBe('--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n')
    expect(lineDiff('f', Buffer.alloc(17 * 1024 ** 2, 'a'), Buffer.from('b'))).toBe(
      'Long file f: 17825792 bytes before, 1 bytes after\n',
    )
    // Lines of one side only: the comparison would need memory for the square of their number.
    expect(lineDiff('f', Buffer.from('a\n'.repeat(200_000)), Buffer.from('b\n'))).toMatch(/^--- a\/f\n\+\+\+ b\/f\n/)
    expect(lineDiff('f', Buffer.from([0, 255]), undefined)).toBe('Binary file f: 2 bytes before, absent after\n')
  })

  it('cuts long lines', () => {
    const diff = lineDiff('f', Buffer.from(`${'a'.repeat(5_000)}\n`), Buffer.from(`${'é'.repeat(5_000)}\n`))
    expect(diff.split('\n').slice(3, 5)).toEqual([`-${'a'.repeat(1_000)}…`, `+${'é'.repeat(1_000)}…`])
  })

  it('shows one change where comparing would take long: for many edits, and for long texts', () => {
    const lines = Array.from({ length: 600 }, (_, index) => `line ${index}\n`)
    const edited = lines.map((line, index) => index % 2 === 0 ? `new ${index}\n` : line)
    expect(lineDiff('f', Buffer.from(lines.join('')), Buffer.from(edited.join(''))))
      .toContain('\n-line 0\n-line 1\n-line 2\n')
    const long = `${'x'.repeat(999)}\n`.repeat(600)
    expect(lineDiff('f', Buffer.from(`a\n${long}a\n`), Buffer.from(`b\n${long}b\n`)))
      .toContain('[The rest of the diff is not shown.]')
  })

  it('is bounded, also where every line differs', LONG, () => {
    const many = (word: string) =>
      Buffer.from(Array.from({ length: 20_000 }, (_, index) => `${word} ${index}\n`).join(''))
    const diff = lineDiff('f', many('old'), many('new'))
    expect(diff.length).toBeLessThan(66_000)
    expect(diff).toContain('not shown')
    // Each hunk fits, and all of them do not.
    const places = Array.from({ length: 12_000 }, (_, index) => `a line of text with the number ${index}\n`)
    const changed = places.map((line, index) => index % 100 === 50 ? `${line.trimEnd()}${'.'.repeat(400)}\n` : line)
    const shown = lineDiff('f', Buffer.from(places.join('')), Buffer.from(changed.join('')))
    expect(shown.length).toBeGreaterThan(60_000)
    expect(shown.length).toBeLessThan(66_000)
    expect(shown).toContain('[The rest of the diff is not shown.]')
  })

  it('needs little memory for a long file that is created, removed or replaced', LONG, () => {
    const long = Buffer.from('line\n'.repeat(100_000))
    for (const [before, after] of [[undefined, long], [long, undefined], [long, Buffer.from('x\n')]] as const) {
      expect(lineDiff('f', before, after)).toContain('not shown')
    }
  })
})
