import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { FileScope } from '../../src/fs/file-scope.ts'
import { temporaryFolder } from '../fixture.ts'

const NAMES = ['a', 'b', 'c'] as const
const name = fc.constantFrom(...NAMES)
const somewhere = fc.array(name, { minLength: 1, maxLength: 3 })
const climbing = fc.array(fc.constantFrom<string>(...NAMES, '..', 'ws', 'outside'), { minLength: 1, maxLength: 5 })

interface Thing {
  readonly at: readonly string[]
  readonly what:
    | { readonly kind: 'file' }
    | { readonly kind: 'folder' }
    | { readonly kind: 'link'; readonly to: readonly string[]; readonly absolute: boolean }
}
const thing: fc.Arbitrary<Thing> = fc.record({
  at: fc.tuple(fc.constantFrom('ws', 'outside'), somewhere).map(([top, below]) => [top, ...below]),
  what: fc.oneof(
    fc.constant({ kind: 'file' as const }),
    fc.constant({ kind: 'folder' as const }),
    fc.record({ kind: fc.constant('link' as const), to: climbing, absolute: fc.boolean() }),
  ),
})

/** Creates what it can. Existing entries stay. */
function make(root: string, things: readonly Thing[]): void {
  mkdirSync(join(root, 'ws'), { recursive: true })
  mkdirSync(join(root, 'outside'), { recursive: true })
  for (const { at, what } of things) {
    const path = join(root, ...at)
    try {
      if (what.kind === 'folder') mkdirSync(path)
      else if (what.kind === 'file') writeFileSync(path, '', { flag: 'wx' })
      else symlinkSync(what.absolute ? join(root, ...what.to) : what.to.join('/'), path)
    } catch {
      continue
    }
  }
}

const real = (path: string): string | undefined => {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

it('rejects .. after a file, also behind a link', async () => {
  const folder = await temporaryFolder()
  writeFileSync(join(folder, 'c'), '')
  symlinkSync('c/../c', join(folder, 'a'))
  expect(real(join(folder, 'a'))).toBeUndefined()
  await expect(new FileScope('fs.read', [folder], folder).locate('a'))
    .rejects.toMatchObject({ code: 'CapabilityDenied' })
})

it('follows up to forty links, like Linux', async () => {
  const folder = realpathSync(await temporaryFolder())
  writeFileSync(join(folder, '0'), '')
  for (let count = 1; count <= 41; count++) symlinkSync(`${count - 1}`, join(folder, `${count}`))
  const scope = new FileScope('fs.read', [folder], folder)
  expect(await scope.locate('40')).toMatchObject({ real: join(folder, '0'), linked: true })
  await expect(scope.locate('41')).rejects.toMatchObject({ code: 'CapabilityDenied' })
})

it('resolves like the system, and never outside the grant', async () => {
  const folder = await temporaryFolder()
  let round = 0
  let granted = 0
  let refusedLinks = 0
  await fc.assert(fc.asyncProperty(
    fc.array(thing, { minLength: 2, maxLength: 14 }), fc.array(name, { maxLength: 2 }),
    fc.array(climbing, { minLength: 1, maxLength: 6 }),
    async (things, pattern, paths) => {
      const root = join(folder, `${++round}`)
      make(root, things)
      const workspace = join(root, 'ws')
      const grant = join(workspace, ...pattern)
      const scope = new FileScope('fs.read', [grant], workspace)
      const isInside = (path: string): boolean => path === grant || path.startsWith(`${grant}/`)
      for (const given of paths.map((parts) => parts.join('/'))) {
        const written = join(workspace, given)
        const place = await scope.locate(given).catch(() => undefined)
        const found = real(written)
        if (place === undefined) {
          // A denied path is outside as written, or behind a link.
          if (isInside(written) && found === written) throw new Error(`refused without a reason: ${given}`)
          if (isInside(written)) refusedLinks++
          continue
        }
        granted++
        expect(isInside(place.real)).toBe(true)
        if (found === undefined) expect(real(place.real)).toBeUndefined()
        else expect(place.real).toBe(found)
      }
      rmSync(root, { recursive: true })
    },
  ), {
    numRuns: thoroughly(62, 250),
    examples: [[[
      { at: ['ws', 'a'], what: { kind: 'file' } },
      { at: ['ws', 'b'], what: { kind: 'link', to: ['outside'], absolute: true } },
    ], [], [['a'], ['b']]]],
  })
  // The paths included both kinds.
  expect(granted).toBeGreaterThan(0)
  expect(refusedLinks).toBeGreaterThan(0)
})
