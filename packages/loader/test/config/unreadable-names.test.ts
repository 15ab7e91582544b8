import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Diagnostic } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture } from '../home-fixture.ts'

type Faults = Readonly<Record<string, (path: string) => void>>

/** Names that exist and cannot be read. Permissions are no such case for root, which tests may run as. */
const FAULTS: Faults = {
  'a link that leads nowhere': (path) => symlinkSync('no-such-name', path),
  'a link to a link that leads nowhere': (path) => {
    symlinkSync('no-such-name', `${path}.next`)
    symlinkSync(`${path}.next`, path)
  },
  'a link into a missing folder': (path) => symlinkSync('no-such-folder/name', path),
  'a link to itself': (path) => symlinkSync(path, path),
  'below a link that leads nowhere': (path) => symlinkSync('no-such-name', emptied(dirname(path))),
  'below a file': (path) => writeFileSync(emptied(dirname(path)), ''),
}
const FOLDER_FAULTS: Faults = { ...FAULTS, 'a file': (path: string) => writeFileSync(path, '') }
const FILE_FAULTS: Faults = { ...FAULTS, 'a folder': (path: string) => void mkdirSync(path) }

function emptied(path: string): string {
  rmSync(path, { recursive: true, force: true })
  return path
}

const TOOLS = { extensions: [], merged: { toolsEnabled: false } }

/** Puts a fault in the place of one name of a home, a project or a machine, and loads. */
async function loaded(nameOf: (home: HomeFixture) => string, fault: (path: string) => void) {
  using home = new HomeFixture()
  home.write(join(home.projectRoot, 'config.json'), {})
  home.write(join(home.base, 'machine/policy.json'), {})
  const name = nameOf(home)
  rmSync(name, { recursive: true, force: true })
  fault(name)
  const machine = { file: join(home.base, 'machine/policy.json'), owners: [0, process.getuid?.() ?? 0] }
  const options = home.options({ roots: { global: home.globalRoot, machine } })
  const report = await createLoader(options).load({ workspace: home.workspace, trust: 'trusted', projectDigest: 'any' })
  const { status, diagnostics } = await createLoader(options).trust.status(home.workspace)
    .catch(() => ({ status: undefined, diagnostics: [] as readonly Diagnostic[] }))
  return {
    extensions: report.extensions, agents: report.agents, merged: report.config.merged, status,
    errors: [...report.diagnostics, ...diagnostics].filter(({ severity }) => severity === 'error'),
  }
}

describe.each<[string, (home: HomeFixture) => string, Faults]>([
  ['the configuration of the user', (home) => join(home.globalRoot, 'config.json'), FILE_FAULTS],
  ['the home', (home) => home.globalRoot, FOLDER_FAULTS],
  ['the policy of the machine', (home) => join(home.base, 'machine/policy.json'), FILE_FAULTS],
])('%s disables all tools if it is', (_, nameOf, faults) => {
  test.each(Object.keys(faults))('%s', async (fault) => {
    const found = await loaded(nameOf, faults[fault]!)
    expect(found).toMatchObject(TOOLS)
    expect(found.errors).toContainEqual(expect.objectContaining({ code: 'ConfigInvalid' }))
  })
})

const { 'below a link that leads nowhere': _below, 'below a file': _file, ...OWN } = FAULTS

describe.each<[string, (home: HomeFixture) => string, string]>([
  ['the configuration of a project', (home) => join(home.projectRoot, 'config.json'), 'ConfigInvalid'],
  ['the folder of a project', (home) => home.projectRoot, 'PackageUnsafe'],
])('%s disables all tools if it is', (_, nameOf, code) => {
  test.each(Object.keys(OWN))('%s', async (fault) => {
    const found = await loaded(nameOf, OWN[fault]!)
    expect(found).toMatchObject(TOOLS)
    expect(found.errors).toContainEqual(expect.objectContaining({ code }))
  })
})

test('a declined project whose folder cannot be read disables nothing', async () => {
  using home = new HomeFixture()
  symlinkSync('no-such-name', home.projectRoot)
  const { config, diagnostics } = await home.load({}, 'declined')
  expect(config.merged).toEqual({})
  expect(diagnostics).toMatchObject([{ severity: 'error', code: 'PackageUnsafe' }])
})

test.each(Object.keys(FILE_FAULTS))('trusts no project if the trust file is %s', async (fault) => {
  const found = await loaded((home) => join(home.globalRoot, 'trust.jsonl'), FILE_FAULTS[fault]!)
  expect(found.status).toEqual({ kind: 'unknown' })
  expect(found.errors).toContainEqual(expect.objectContaining({ code: 'TrustStoreUnavailable' }))
})

describe.each(['globalRoot', 'projectRoot'] as const)('in %s', (root) => {
  test.each(Object.keys(OWN))('loads no package if the lock is %s', async (fault) => {
    const found = await loaded((home) => join(home[root], 'bulkhead.lock'), OWN[fault]!)
    expect(found.errors).toContainEqual(expect.objectContaining({ code: 'LockInvalid' }))
  })

  test.each(Object.keys(OWN))('reports agents whose folder is %s', async (fault) => {
    const found = await loaded((home) => join(home[root], 'agents'), OWN[fault]!)
    expect(found.errors).toContainEqual(expect.objectContaining({ code: 'PackageUnsafe' }))
  })

  test.each(Object.keys(OWN))('keeps an agent unusable whose file is %s', async (fault) => {
    const found = await loaded((home) => join(home[root], 'agents/reviewer.json'), (path) => {
      mkdirSync(dirname(path), { recursive: true })
      OWN[fault]!(path)
    })
    expect(found.agents).toMatchObject([{ name: 'reviewer', fault: { code: 'AgentInvalid' } }])
  })
})
