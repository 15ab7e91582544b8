import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { refreshTrustRoot } from '../../src/install/trust-root.ts'
import { PUBLIC_GOOD_ROOT } from '../../src/signature/public-good.ts'
import { HomeFixture } from '../home-fixture.ts'
import { TufFixture } from './tuf-fixture.ts'

const root = JSON.stringify(PUBLIC_GOOD_ROOT.json)
const optionsOf = (home: HomeFixture, repository: TufFixture) => ({
  cacheFolder: join(home.base, 'tuf'), mirror: repository.url,
  initialRoot: home.write(join(home.base, 'root.json'), repository.initialRoot),
})
const outcome = (work: Promise<unknown>) => work.then(() => 'done', (error: unknown) => BulkheadError.from(error).code)

describe('refreshing the trust root', () => {
  test('accepts a signed and current repository', async () => {
    using home = new HomeFixture()
    await using repository = await TufFixture.start()
    repository.serve(root, 1)
    const options = optionsOf(home, repository)
    expect(await refreshTrustRoot(options)).toEqual(PUBLIC_GOOD_ROOT.json)
    const { tlogs: [first] } = PUBLIC_GOOD_ROOT.json as { tlogs: unknown[] }
    const newer = { ...PUBLIC_GOOD_ROOT.json as object, tlogs: [first] }
    repository.serve(JSON.stringify(newer), 2)
    expect(await refreshTrustRoot(options)).toEqual(newer)
    // A repository cannot be rolled back.
    repository.serve(root, 1)
    expect(await outcome(refreshTrustRoot(options))).toBe('InstallSourceUnavailable')
  })

  test.each<[string, (repository: TufFixture) => void, string]>([
    ['out of date', (repository) => repository.serve(root, 1, '2020-01-01T00:00:00Z'), 'InstallSourceUnavailable'],
    ['changed after it was signed', (repository) => {
      repository.serve(root, 1)
      repository.tamper((text, path) => path === '1.targets.json' ? text.replace('"length":', '"length":1') : text)
    }, 'InstallSourceUnavailable'],
    ['serving another target than was signed', (repository) => {
      repository.serve(root, 1)
      repository.tamper((text, path) => path.startsWith('targets/') ? text.replace('rekor', 'rekox') : text)
    }, 'InstallSourceUnavailable'],
    ['empty', () => {}, 'InstallSourceUnavailable'],
    ['serving another document', (repository) => repository.serve('{}', 1), 'SignatureInvalid'],
    ['serving invalid JSON', (repository) => repository.serve('hello', 1), 'SignatureInvalid'],
  ])('refuses a repository that is %s', async (_, prepare, code) => {
    using home = new HomeFixture()
    await using repository = await TufFixture.start()
    prepare(repository)
    expect(await outcome(refreshTrustRoot(optionsOf(home, repository)))).toBe(code)
  })

  test('does not store an initial root that verified nothing', async () => {
    using home = new HomeFixture()
    await using repository = await TufFixture.start()
    await using other = await TufFixture.start()
    repository.serve(root, 1)
    const options = optionsOf(home, repository)
    const foreign = home.write(join(home.base, 'foreign.json'), other.initialRoot)
    expect(await outcome(refreshTrustRoot({ ...options, initialRoot: foreign }))).toBe('InstallSourceUnavailable')
    expect(readdirSync(options.cacheFolder)).toEqual([])
    expect(await refreshTrustRoot(options)).toEqual(PUBLIC_GOOD_ROOT.json)
    // The repository is known now, so the initial root is ignored.
    expect(await refreshTrustRoot({ ...options, initialRoot: foreign })).toEqual(PUBLIC_GOOD_ROOT.json)
  })

  test.each([
    ['that is missing', undefined, 'cannot be read'], ['that is not JSON', 'one two', 'is not JSON'],
    ['of another type', '{"signed":{"_type":"targets"}}', 'is not TUF root metadata'],
  ])('refuses an initial root %s', async (_, text, why) => {
    using home = new HomeFixture()
    const initialRoot = join(home.base, 'begin.json')
    if (text !== undefined) home.write(initialRoot, text)
    const work = refreshTrustRoot({ cacheFolder: join(home.base, 'tuf'), mirror: 'https://tuf.example', initialRoot })
    await expect(work).rejects.toMatchObject({
      code: 'InstallSourceInvalid', message: expect.stringMatching(`begin.json" ${why}.*Use the root metadata`),
    })
  })

  test('refuses plain HTTP, and a repository without an initial root', async () => {
    using home = new HomeFixture()
    await using repository = await TufFixture.start()
    repository.serve(root, 1)
    const { initialRoot: _, ...unvouched } = optionsOf(home, repository)
    expect(await outcome(refreshTrustRoot(unvouched))).toBe('InstallSourceInvalid')
    expect(await outcome(refreshTrustRoot({ ...unvouched, mirror: 'http://tuf.example' }))).toBe('InstallSourceInvalid')
  })
})
