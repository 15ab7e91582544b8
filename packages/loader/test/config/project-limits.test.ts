import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HomeFixture } from '../home-fixture.ts'

const configOf = (root: string) => join(root, 'config.json')

test('a project cannot enable approvals for itself, which is reported, and can switch them off', async () => {
  using home = new HomeFixture()
  home.write(configOf(home.projectRoot), { approvals: { project: true } })
  const { config, diagnostics } = await home.load({}, 'trusted')
  expect(config.merged.approvals?.project).toBeUndefined()
  expect(diagnostics).toMatchObject([
    { severity: 'warning', layer: 'project', code: 'ConfigInvalid', path: '/approvals/project' },
  ])
  home.write(configOf(home.projectRoot), { approvals: { project: false } })
  const off = await home.load({}, 'trusted', { approvals: { project: true } })
  expect([off.config.merged.approvals, off.diagnostics]).toEqual([{ project: false }, []])
})

test('what a project says about commands has no effect, and is reported', async () => {
  using home = new HomeFixture()
  home.write(configOf(home.globalRoot), { commands: { read: ['/srv'], env: { pass: ['A'], set: { B: 'user' } } } })
  home.write(configOf(home.projectRoot), { commands: { read: ['~'], env: { pass: ['TOKEN'], set: { B: 'project' } } } })
  const {
    config: {
      merged: { commands },
    },
    diagnostics,
  } = await home.load({}, 'trusted', { commands: { env: { set: { C: 'embedder' } } } })
  expect(commands).toEqual({ read: ['/srv'], env: { pass: ['A'], set: { B: 'user', C: 'embedder' } } })
  expect(diagnostics).toMatchObject([
    {
      severity: 'warning', layer: 'project', code: 'ConfigInvalid', path: '/commands',
      message: expect.stringMatching(
        /^A project cannot change what commands see and get, so this has no effect\./,
      ) as string,
    },
  ])
})

test('what a project says about the treatment of modes has no effect, and is reported', async () => {
  using home = new HomeFixture()
  home.write(configOf(home.globalRoot), { treatment: { external: 'ask' } })
  home.write(configOf(home.projectRoot), { treatment: { preset: 'steerable', external: 'run' } })
  const {
    config: {
      merged: { treatment },
    },
    diagnostics,
  } = await home.load({}, 'trusted', { treatment: { read: 'run' } })
  expect(treatment).toEqual({ external: 'ask', read: 'run' })
  expect(diagnostics).toMatchObject([
    { severity: 'warning', layer: 'project', code: 'ConfigInvalid', path: '/treatment' },
  ])
})

test('a treatment that cannot be read asks', async () => {
  using home = new HomeFixture()
  home.write(configOf(home.globalRoot), { treatment: { read: 'always', external: 'run' } })
  const { config: { merged: { treatment } } } = await home.load({}, 'trusted', {})
  expect(treatment).toEqual({ read: 'ask', external: 'run' })
})
