import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SYSTEM_FOLDERS } from '@bulkhead/kit/programs'
import { afterAll, expect, it } from 'vitest'
import { WALLS } from '../../../../scripts/machine.ts'
import { runsIf } from '../../../../scripts/skips.ts'
import { Grants } from '../../src/walls/grants.ts'
import { ruleSet } from '../../src/walls/landlock.ts'
import { launch } from '../../src/walls/launcher.ts'
import { lookWall } from '../../src/walls/trial.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-grants-')))
afterAll(() => rmSync(root, { recursive: true }))
for (const folder of ['work/sub', 'outside']) mkdirSync(join(root, folder), { recursive: true })
for (const file of ['work/.env', 'work/a', 'work/sub/b', 'outside/secret']) writeFileSync(join(root, file), file)
symlinkSync('../outside/secret', join(root, 'work/link'))
const at = (name: string): string => join(root, name)

it('are the entries beside what is left out, without links', () => {
  const grants = new Grants()
  grants.add('run', at('work'), [at('work/.env')])
  expect([grants.of('list'), grants.of('run').toSorted()]).toEqual([[at('work')], [at('work/a'), at('work/sub')]])
})

it('are a whole folder if nothing is left out, and nothing if all of it is', () => {
  const grants = new Grants()
  grants.add('write', at('work'), [at('outside/secret')])
  grants.add('write', at('outside'), [at('outside')])
  expect([grants.of('list'), grants.of('write')]).toEqual([[], [at('work')]])
})

const WALLED = { ...WALLS, ...runsIf((await lookWall()).stands, 'needs Landlock') }

it.each([
  [true, ''], [false, 'outside/secret'],
])('lead nowhere else through a link: %s', WALLED, async (noLinks, seen) => {
  const rules = ruleSet({ run: [...SYSTEM_FOLDERS, '/etc/ld.so.cache'], read: [at('work/link')], noLinks })
  const { child } = launch({ argv: ['/bin/cat', at('outside/secret')], env: {}, cwd: '/', wall: { rules } }, [
    'ignore', 'pipe', 'ignore',
  ])
  expect(await text(child.stdout!)).toBe(seen)
})
