import { spawnSync } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import type { Json } from '@bulkhead/kit/json'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { recoverUpdates } from '../../src/fs/update-journal.ts'
import { temporaryFolder } from '../fixture.ts'

const FIXTURE = join(import.meta.dirname, 'fixtures/killed-apply.ts')
const PATHS = ['a', 'b.txt', 'd/e', 'd/f/g', 'ü', 'new\nline', ' x', 'h/i/j/k']

const content = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const change = fc.record({
  path: fc.constantFrom(...PATHS), what: fc.constantFrom('change', 'create', 'remove', 'mode', 'move'), old: content,
  fresh: content, executable: fc.boolean(),
})
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never
const changeSets = fc.uniqueArray(change, { minLength: 1, maxLength: PATHS.length, selector: ({ path }) => path })

/** As `fs.apply` takes them from a compartment. */
function updatesOf({ path, what, old, fresh, executable }: Change): readonly Json[] {
  const [before, after] = [['bytes', old], ['bytes', fresh]] as const
  switch (what) {
    case 'change': return [{ path, before, after }]
    case 'create': return [{ path, before: null, after }]
    case 'remove': return [{ path, before, after: null }]
    case 'mode': return [{ path, before, after: before, executable: !executable }]
    case 'move': return [{ path, before, after: null }, { path: `moved/${path}`, before: null, after, like: path }]
  }
}

/** Every file with its mode and content, and every folder. */
async function treeOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const lines = await Promise.all(entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile()) return `${path.slice(folder.length)}/`
    return `${path.slice(folder.length)} ${(await stat(path)).mode} ${(await readFile(path)).toString('base64')}`
  }))
  return lines.toSorted()
}

const filesOf = (tree: readonly string[]): readonly string[] => tree.filter((line) => !line.endsWith('/'))

/** Applies the changes in a child process in which one operation on the file system is the last one, or fails. */
async function applied(changes: readonly Change[], point: number, fault: 'kill' | 'error') {
  const root = await temporaryFolder()
  const [workspace, journal, list] = ['workspace', 'journal', 'updates.json'].map((name) => join(root, name)) as [
    string, string, string,
  ]
  await mkdir(workspace)
  for (const { path, old, executable } of changes.filter(({ what }) => what !== 'create')) {
    await mkdir(dirname(join(workspace, path)), { recursive: true })
    await writeFile(join(workspace, path), old, 'base64')
    await chmod(join(workspace, path), executable ? 0o755 : 0o644)
  }
  await writeFile(list, JSON.stringify(changes.flatMap(updatesOf)))
  const before = await treeOf(workspace)
  const { signal, stdout, stderr } =
    spawnSync(process.execPath, [FIXTURE, workspace, journal, list, String(point), fault], { encoding: 'utf8' })
  expect(stderr).toBe('')
  await recoverUpdates(journal)
  expect(await readdir(journal).catch(() => [])).toEqual([])
  const operations = /^\d+$/.test(stdout) ? Number(stdout) : undefined
  return { before, after: await treeOf(workspace), operations, isKilled: signal === 'SIGKILL' }
}

/** Late points more often: that is where files are replaced. */
const points = fc.array(
  fc.double({ min: 0, max: 1, noNaN: true }).map((part) => 1 - part ** 3),
  thoroughly({ minLength: 1, maxLength: 1 }, { minLength: 3, maxLength: 6 }),
)

/** In soak, a set of each kind of change at many points. */
const EXAMPLES: [Change[], number[]][] = thoroughly(
  [],
  [
    [
      PATHS.slice(0, 5).map((path, index) => ({
        path, what: (['change', 'create', 'remove', 'mode', 'move'] as const)[index]!, old: 'b2xk', fresh: 'bmV3',
        executable: index === 2,
      })),
      Array.from({ length: 40 }, (_, index) => index / 39),
    ],
  ],
)

it('leaves all old or all new files: for itself after an error, for the next host after a kill', async () => {
  const seen = { old: 0, new: 0 }
  await fc.assert(fc.asyncProperty(changeSets, points, async (changes, parts) => {
    const { operations = 0, before, after } = await applied(changes, 0, 'kill')
    expect(operations).toBeGreaterThan(changes.length)
    for (const part of parts) {
      const point = 1 + Math.floor(part * (operations - 1))
      const killed = await applied(changes, point, 'kill')
      expect(killed.isKilled).toBe(true)
      const found = filesOf(killed.after)
      expect([filesOf(before), filesOf(after)], `killed at ${point} of ${operations}`).toContainEqual(found)
      seen[JSON.stringify(found) === JSON.stringify(filesOf(after)) ? 'new' : 'old']++
      const failed = await applied(changes, point, 'error')
      expect(failed.after, `error at ${point} of ${operations}`)
        .toEqual(failed.operations === undefined ? before : after)
    }
  }), { numRuns: thoroughly(1, 30), examples: EXAMPLES })
  if (thoroughly(false, true)) expect(Math.min(seen.old, seen.new)).toBeGreaterThan(10)
})
