import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

it('are limited where files beside them are left out', () => {
  const many = (entries: number): string => {
    const folder = at(`many-${entries}`)
    mkdirSync(folder)
    for (let index = 0; index < entries; index++) linkSync(at('work/a'), join(folder, `f${index}`))
    return folder
  }
  const tooMany = () => new Error('There are too many.')
  const add = (folder: string) => new Grants(tooMany).add('read', folder, [join(folder, 'f0')])
  // One of them is to list the folder, and one file is left out.
  add(many(4_096))
  expect(() => add(many(4_097))).toThrow('There are too many.')
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
