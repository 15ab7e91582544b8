// @module-tag git
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { toolSession } from '../../../test/tool-session.ts'
import { GitFolder, readTree, type Tree, writeTree } from './git-trees.ts'

const PATHS = [
  'a.txt', 'src/b.ts', 'src/deep/c', 'with space.txt', 'ü.txt', 'a "quote".md', 'tab\there', 'src/b.ts.bak',
]
/** Few different lines, so that many places look alike. */
const line = fc.constantFrom(
  '', 'a', 'b', '}', '  x', '\tx', '-- y', '++ z', '@@ -1 +1 @@', 'ünï', '\\ No newline at end of file',
)
const content = fc.record({
  lines: fc.array(line, { maxLength: 30 }), end: fc.constantFrom('\n', '\n', '\r\n'), last: fc.boolean(),
}).map(({ lines, end, last }) => lines.join(end) + (last && lines.length > 0 ? end : ''))
const file = fc.record({ text: content, executable: fc.boolean() })
const files = fc.dictionary(fc.constantFrom(...PATHS), file, { maxKeys: 5, noNullPrototype: true })

/** A tree, and the tree after some edits of it. */
const trees = fc.record({
  before: files, added: files,
  edits: fc.array(fc.record({
    path: fc.constantFrom(...PATHS), at: fc.nat(30), count: fc.nat(3), lines: fc.array(line, { maxLength: 4 }),
    what: fc.constantFrom('edit', 'edit', 'edit', 'remove', 'move', 'mode'), to: fc.constantFrom(...PATHS),
  }), { maxLength: 6 }),
}).map(({ before, added, edits }) => {
  const after: Record<string, { text: string; executable: boolean }> = { ...added, ...before }
  for (const { path, at, count, lines, what, to } of edits) {
    const found = after[path]
    if (found === undefined) continue
    if (what === 'remove') delete after[path]
    else if (what === 'mode') after[path] = { ...found, executable: !found.executable }
    else if (what === 'edit') {
      const end = found.text.includes('\r\n') ? '\r\n' : '\n'
      const all = found.text.split(end)
      all.splice(at % (all.length + 1), count, ...lines)
      after[path] = { ...found, text: all.join(end) }
    } else if (after[to] === undefined) {
      delete after[path]
      after[to] = found
    }
  }
  return { before: before as Tree, after: after as Tree }
})

const OPTIONS = [
  ['-M'], ['--no-renames'], ['-U0'], ['-U1', '-M'], ['-M', '-C', '--find-copies-harder'], ['--no-prefix'],
  ['-M40%', '-U8'],
]

describe('a patch of git', () => {
  const git = new GitFolder()
  afterAll(() => git.remove())
  const session = toolSession('apply_patch')

  it('gives the tree that git gives, and its reverse gives the old one back, here and in git', LONG, async () => {
    await fc.assert(fc.asyncProperty(trees, fc.constantFrom(...OPTIONS), async ({ before, after }, options) => {
      const patch = git.diff(before, after, options)
      fc.pre(patch !== '')
      writeTree(session.workspace, before)
      const { reverse } = await session.call({ patch })
      expect(readTree(session.workspace)).toEqual(after)
      // Without context, git finds a last line without its end of line also before the right place, even in its own
      // patch.
      if (!options.includes('-U0') || isDeepStrictEqual(git.apply(after, git.diff(after, before, options)), before)) {
        expect(git.apply(after, reverse as string)).toEqual(before)
      }
      await session.call({ patch: reverse as string })
      expect(readTree(session.workspace)).toEqual(before)
    }), { numRuns: thoroughly(4, 400) })
  })
})
