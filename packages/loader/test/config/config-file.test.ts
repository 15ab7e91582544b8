import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HomeFixture } from '../home-fixture.ts'

const configOf = (root: string) => join(root, 'config.json')

describe('a configuration file', () => {
  test('disables all tools if the file cannot be read', async () => {
    using home = new HomeFixture()
    execFileSync('mkdir', ['-p', home.projectRoot])
    execFileSync('mkfifo', [configOf(home.projectRoot)])
    home.write(configOf(home.globalRoot), ' '.repeat(300_000))
    const { config, diagnostics } = await home.load()
    expect(diagnostics).toMatchObject([
      { code: 'ConfigInvalid', message: expect.stringMatching(/^config\.json has 300000 bytes; 262144 are allowed\./) },
      { code: 'ConfigInvalid', message: expect.stringMatching(/^config\.json is not a regular file\./) },
    ])
    expect(config.merged).toEqual({ toolsEnabled: false })
  })

  test('a higher layer cannot enable tools that an unreadable file disabled', async () => {
    using home = new HomeFixture()
    home.write(configOf(home.globalRoot), '{')
    home.write(configOf(home.projectRoot), { toolsEnabled: true })
    const { config } = await home.load({}, 'trusted', { toolsEnabled: true })
    expect(config.merged).toEqual({ toolsEnabled: false })
  })

  test('follows a link in the global layer, and not in a project', async () => {
    using home = new HomeFixture()
    const dotfiles = home.write(join(home.base, 'dotfiles.json'), { mode: 'yolo' })
    symlinkSync(dotfiles, configOf(home.globalRoot))
    home.write(configOf(home.projectRoot), '')
    rmSync(configOf(home.projectRoot))
    symlinkSync(dotfiles, configOf(home.projectRoot))
    const { config, diagnostics } = await home.load()
    expect(config.layers.map(({ layer, config: own }) => [layer, own])).toEqual(
      [['bundled', {}], ['global', { mode: 'yolo' }], ['project', { toolsEnabled: false }]],
    )
    expect(diagnostics).toMatchObject([
      {
        code: 'ConfigInvalid', layer: 'project',
        message: expect.stringMatching(/^config\.json is a link\. .*disabled\.$/),
      },
    ])
  })

  test('checks the configuration of the embedder, and ignores undefined members', async () => {
    using home = new HomeFixture()
    const { config, diagnostics } = await home.load({}, 'trusted', {
      mode: undefined, toolsEnabled: false, surprise: 1,
    } as never)
    expect(config.merged).toEqual({ toolsEnabled: false })
    expect(diagnostics).toMatchObject([{ code: 'ConfigInvalid', path: '/surprise', location: 'overrides' }])
    const cyclic: Record<string, unknown> = {}
    cyclic['tools'] = cyclic
    const refused = await home.load({}, 'trusted', cyclic)
    expect(refused.diagnostics).toMatchObject([{ code: 'ConfigInvalid', path: '/tools' }])
    expect(refused.config.merged).toEqual({ toolsEnabled: false })
  })

  test('ignores nested undefined members', async () => {
    using home = new HomeFixture()
    const deny = { permission: 'bash', pattern: undefined, action: 'deny' }
    const { config, diagnostics } = await home.load({}, 'trusted', {
      rules: [deny], tools: { read: { enabled: undefined } },
    } as never)
    expect(diagnostics).toEqual([])
    expect(config.merged).toEqual({
      rules: [{ permission: 'bash', pattern: '*', action: 'deny' }], tools: { read: {} },
    })
  })
})
