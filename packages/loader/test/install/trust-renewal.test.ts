import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TrustDecision } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { resolveSettings } from '../../src/config/settings.ts'
import { TrustRenewal } from '../../src/trust/trust-ledger.ts'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'
import { folderOf, install, installerFor, packageFiles } from './install-fixture.ts'

/** A project with its own tool, to install into. */
class ProjectFixture extends HomeFixture {
  readonly ownAt = this.extension(this.projectRoot, 'own')
  readonly file = join(this.globalRoot, 'trust.jsonl')
  readonly installer = installerFor(this, { layer: 'project' })

  get ledger() {
    return createLoader(this.options()).trust
  }

  async status() {
    return (await this.ledger.status(this.workspace)).status
  }

  lines(): number {
    return existsSync(this.file) ? readFileSync(this.file, 'utf8').trim().split('\n').length : 0
  }

  /** The extensions that load with the recorded trust. */
  async trusted(): Promise<readonly string[]> {
    const status = await this.status()
    if (status.kind !== 'trusted') return [status.kind]
    const request = {
      workspace: this.workspace, trust: 'trusted', projectDigest: status.digest,
      overrides: { policy: { lock: { project: 'off' } } },
    } as const
    return (await createLoader(this.options()).load(request)).extensions.map(({ id, version }) => `${id}@${version}`)
  }
}

const source = (home: HomeFixture, version = '1.0.0') => folderOf(home, packageFiles(version), `weather-${version}`)

describe('a trusted project stays trusted', () => {
  test('a package may be installed, updated and uninstalled', async () => {
    using home = new ProjectFixture()
    await home.ledger.decide(home.workspace, 'trusted')
    await install(home.installer, source(home))
    expect(await home.trusted()).toEqual(['own@1.4.0', 'weather@1.0.0'])
    await install(home.installer, source(home, '1.1.0'))
    expect(await home.trusted()).toEqual(['own@1.4.0', 'weather@1.1.0'])
    await home.installer.uninstall('weather')
    expect(await home.trusted()).toEqual(['own@1.4.0'])
    expect(home.lines()).toBe(4)
  })

  test('one of its own folders may be accepted in place', async () => {
    using home = new ProjectFixture()
    await home.ledger.decide(home.workspace, 'trusted')
    await install(home.installer, home.ownAt)
    expect(await home.trusted()).toEqual(['own@1.4.0'])
  })
})

describe('a trusted project needs a new decision when', () => {
  const changes: readonly (readonly [string, (home: ProjectFixture) => void])[] = [
    ['another tool changed', (home) => home.write(join(home.ownAt, 'index.js'), 'export default []')],
    ['a tool was added', (home) => home.extension(home.projectRoot, 'more')],
    ['its settings changed', (home) => home.write(join(home.projectRoot, 'config.json'), { mode: 'yolo' })],
  ]
  test.each(changes)('%s before the installation was written', async (_, change) => {
    using home = new ProjectFixture()
    await home.ledger.decide(home.workspace, 'trusted')
    const plan = await home.installer.plan(source(home))
    change(home)
    await home.installer.install(plan, 'ann')
    expect(await home.trusted()).toEqual(['changed'])
    expect(home.lines()).toBe(1)
  })

  test.each([
    ...changes,
    ['an installed package changed', (home: ProjectFixture) => {
      const installed = join(home.projectRoot, 'installed')
      const name = readdirSync(installed).find((entry) => entry.startsWith('weather-'))
      home.write(join(installed, name!, 'index.js'), 'export default []')
    }],
    ['the lock changed', (home: ProjectFixture) => rmSync(join(home.projectRoot, 'bulkhead.lock'))],
  ] as const)('%s after it', async (_, change) => {
    using home = new ProjectFixture()
    await home.ledger.decide(home.workspace, 'trusted')
    await install(home.installer, source(home))
    change(home)
    expect(await home.trusted()).toEqual(['changed'])
  })
})

describe('an installation does not trust a project', () => {
  test.each([
    null, 'declined', 'once', 'revoked',
  ] as const)('that was %s before', async (decision: TrustDecision | null) => {
    using home = new ProjectFixture()
    if (decision !== null) await home.ledger.decide(home.workspace, decision)
    const before = home.lines()
    await install(home.installer, source(home))
    expect(home.lines()).toBe(before)
    expect((await home.status()).kind).not.toBe('trusted')
  })

  test('that was empty before', async () => {
    using home = new ProjectFixture()
    rmSync(home.projectRoot, { recursive: true })
    await install(home.installer, source(home))
    expect(await home.status()).toEqual({ kind: 'unknown' })
  })

  test('in the home folder of the user', async () => {
    using home = new ProjectFixture()
    await home.ledger.decide(home.workspace, 'trusted')
    home.write(join(home.ownAt, 'bulkhead.json'), manifestOf({ id: 'own', version: '2.0.0' }))
    await install(installerFor(home), source(home))
    expect(await home.trusted()).toEqual(['changed'])
  })
})

test.each([
  'declined', 'once',
] as const)('does not renew trust that was replaced during the installation: %s', async (decision) => {
  using home = new ProjectFixture()
  await home.ledger.decide(home.workspace, 'trusted')
  const renewal = await TrustRenewal.begin(home.workspace, resolveSettings(home.options()))
  await home.ledger.decide(home.workspace, decision)
  const lines = home.lines()
  renewal!.renew({ id: 'weather', before: null, after: null } as Parameters<TrustRenewal['renew']>[0], '0'.repeat(128))
  expect(home.lines()).toBe(lines)
})
