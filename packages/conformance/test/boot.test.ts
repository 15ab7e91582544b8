import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { refuseNodeVersion } from '../../../scripts/boot/node-version.mjs'
import { shellLine } from '../../../scripts/boot/root-script.mjs'
import { BootWorkspace, PNPM } from './boot-workspace.ts'

const SETUP = ['npm install', 'pnpm install --frozen-lockfile']
const STAMP = 'node_modules/.bulkhead-setup'

describe('the Node that starts it', () => {
  it.each(['20.0.0', '22.11.0', '26.10.0'])('may be %s', (version) => {
    expect(refuseNodeVersion(version)).toBe('')
  })

  it.each(['9.11.2', '18.20.4', '19.9.0'])('is refused with a cure when it is %s', (version) => {
    expect(refuseNodeVersion(version)).toMatch(new RegExp(`Node 20 or newer; this is Node ${version}[^]*Cure: .*nodejs.org`))
  })
})

describe('the first run', () => {
  it('gets pnpm, installs, says so, and runs the script with its arguments', async () => {
    using workspace = new BootWorkspace()
    const { code, output } = await workspace.run(['hello', 'two words', '$HOME'])
    expect(output).toContain(`Getting pnpm ${PNPM}`)
    expect(output).toContain('hello first|two words|$HOME')
    expect(workspace.calls).toEqual(SETUP)
    expect(code).toBe(0)
  })

  it('without a network says what to do and leaves no half-written pnpm', async () => {
    using workspace = new BootWorkspace()
    workspace.remove('stand-ins')
    const { code, output } = await workspace.run(['hello'], {
      npm_config_registry: 'http://127.0.0.1:9',
      npm_config_fetch_retries: '0',
    })
    expect(output).toContain(`pnpm ${PNPM} could not be fetched: the npm registry could not be reached.`)
    expect(output).toMatch(/Cure: connect to the network[^]*HTTPS_PROXY/)
    expect(readdirSync(join(workspace.root, '.tools'))).toEqual([])
    expect(code).toBe(1)
  })

  it('does not take for whole what an interrupted one left', async () => {
    using workspace = new BootWorkspace()
    workspace.write(`.tools/pnpm-${PNPM}.partial-1/node_modules/.bin/pnpm`, '')
    workspace.write('node_modules/.bin/node', 'half')
    workspace.write('node_modules/.bin/turbo', 'half')
    const { code } = await workspace.run(['hello'])
    expect(workspace.calls).toEqual(SETUP)
    expect(readdirSync(join(workspace.root, '.tools'))).toEqual([`pnpm-${PNPM}`])
    expect(code).toBe(0)
  })

  it('shows what pnpm said when it failed, with the cure, and is not taken for done', async () => {
    using workspace = new BootWorkspace()
    const failed = await workspace.run(['hello'], { BOOT_PNPM_FAILURE: 'ERR_PNPM_OUTDATED_LOCKFILE  one was changed' })
    expect(failed.output).toContain('one was changed')
    expect(failed.output).toMatch(/pnpm-lock.yaml does not fit[^]*Cure: run `pnpm install`/)
    expect(failed.code).toBe(1)
    expect(workspace.has(STAMP)).toBe(false)
    expect((await workspace.run(['hello'])).code).toBe(0)
  })

  it('refuses a pnpm that answers with another version', async () => {
    using workspace = new BootWorkspace()
    const { code, output } = await workspace.run(['hello'], { BOOT_PNPM_VERSION: '1.2.3' })
    expect(output).toMatch(/does not run here: 1\.2\.3[^]*Cure/)
    expect(readdirSync(join(workspace.root, '.tools'))).toEqual([])
    expect(code).toBe(1)
  })
})

describe('the next run', () => {
  it('starts no package manager', async () => {
    using workspace = new BootWorkspace()
    await workspace.run(['hello'])
    workspace.remove('journal')
    const { code, output } = await workspace.run(['hello'])
    expect(output).toBe('hello first\n')
    expect(workspace.calls).toEqual([])
    expect(code).toBe(0)
  })

  it.each([
    ['a manifest', (workspace: BootWorkspace) => workspace.write('packages/one/package.json', '{ "name": "one" }')],
    ['the lockfile', (workspace: BootWorkspace) => workspace.write('pnpm-lock.yaml', 'lockfileVersion: 10\n')],
    ['the list of packages', (workspace: BootWorkspace) => workspace.write('packages/two/package.json', '{ "name": "two" }')],
  ])('installs again after a change of %s', async (_, change) => {
    using workspace = new BootWorkspace()
    await workspace.run(['hello'])
    change(workspace)
    await workspace.run(['hello'])
    expect(workspace.calls).toEqual([...SETUP, SETUP[1]])
  })

  it.each([
    'node_modules/.bin/turbo',
    'node_modules/.bin/node',
    'packages/one/node_modules',
    STAMP,
  ])('installs again without %s', async (path) => {
    using workspace = new BootWorkspace()
    await workspace.run(['hello'])
    workspace.remove(path)
    expect((await workspace.run(['hello'])).code).toBe(0)
    expect(workspace.calls).toEqual([...SETUP, SETUP[1]])
  })

  it('installs again when an install for another state began meanwhile, even if that state is gone', async () => {
    using workspace = new BootWorkspace()
    await workspace.run(['hello'])
    workspace.write('pnpm-lock.yaml', 'lockfileVersion: 10\n')
    await workspace.run(['hello'], { BOOT_PNPM_FAILURE: 'stopped halfway' })
    workspace.write('pnpm-lock.yaml', 'lockfileVersion: 9\n')
    await workspace.run(['hello'])
    expect(workspace.calls).toEqual([...SETUP, SETUP[1], SETUP[1]])
  })

  it('gets pnpm again without it', async () => {
    using workspace = new BootWorkspace()
    await workspace.run(['hello'])
    workspace.remove('.tools')
    await workspace.run(['hello'])
    expect(workspace.calls).toEqual([...SETUP, ...SETUP])
  })
})

describe('a signal', () => {
  it.each(['npm', 'pnpm'])('during the setup ends %s and the setup, and the next run repairs it', async (held) => {
    using workspace = new BootWorkspace()
    const { child, printed, finished } = workspace.start(['hello'], { BOOT_HOLD: held })
    await printed(`${held} holds`)
    child.kill('SIGTERM')
    const { code, output } = await finished
    expect(output).toContain('The same command continues it.')
    expect(code).toBe(143)
    expect(workspace.has(STAMP)).toBe(false)
    expect(readdirSync(join(workspace.root, '.tools'))).toEqual(held === 'npm' ? [] : [`pnpm-${PNPM}`])
    expect((await workspace.run(['hello'])).code).toBe(0)
  })

  it('reaches the script, whose exit code is handed on', async () => {
    using workspace = new BootWorkspace()
    workspace.write('hello.mjs', "process.on('SIGTERM', () => process.exit(7)); setInterval(() => {}, 1e6); console.log('ready')")
    const { child, printed, finished } = workspace.start(['hello'])
    await printed('ready')
    child.kill('SIGTERM')
    expect((await finished).code).toBe(7)
  })
})

describe('two at once', () => {
  it('set up once: the second waits for the first', async () => {
    using workspace = new BootWorkspace()
    const first = workspace.start(['hello'], { BOOT_HOLD: 'pnpm' })
    await first.printed('pnpm holds')
    const second = workspace.start(['hello'])
    await second.printed(`Waiting for another setup of this folder (process ${first.child.pid}`)
    workspace.write('gate/open', '')
    expect([await first.finished, await second.finished].map(({ code }) => code)).toEqual([0, 0])
    expect(workspace.calls).toEqual(SETUP)
  })

  it('do not meet when the first was killed while its pnpm goes on', async () => {
    using workspace = new BootWorkspace()
    const first = workspace.start(['hello'], { BOOT_HOLD: 'pnpm' })
    await first.printed('pnpm holds')
    first.child.kill('SIGKILL')
    const second = workspace.start(['hello'])
    await second.printed('Waiting for another setup')
    expect(workspace.calls).toEqual(SETUP)
    workspace.write('gate/open', '')
    expect((await second.finished).code).toBe(0)
    expect(workspace.calls).toEqual([...SETUP, SETUP[1]])
  })
})

it('names the scripts there are when asked for another', async () => {
  using workspace = new BootWorkspace()
  const { code, output } = await workspace.run(['constructor'])
  expect(output).toMatch(/no script `constructor`[^]*one of: hello/)
  expect(workspace.calls).toEqual([])
  expect(code).toBe(1)
})

it('a plain command takes the place of its shell, a composed one does not', () => {
  expect(shellLine('node apps/demo/src/main.ts')).toBe('exec node apps/demo/src/main.ts "$@"')
  expect(shellLine('one && two')).toBe('one && two "$@"')
  expect(shellLine('MODE=1 node x')).toBe('MODE=1 node x "$@"')
})
