import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { BootWorkspace, PNPM } from './boot-workspace.ts'

const SETUP = ['npm install', 'pnpm install --frozen-lockfile']
const STAMP = 'node_modules/.bulkhead-setup'
const LOCK = '.tools/boot.lock'

describe('the first start', () => {
  it('fetches pnpm, installs, and runs the script with its arguments', async () => {
    using workspace = new BootWorkspace()
    const { code, output } = await workspace.run(['hello', 'two words', '$HOME'])
    // The output of the script comes through another pipe, so it may be read first.
    expect(output).toMatch(/› First start[^]*› Fetching pnpm [^]*› Installing [^]*› Ready after /)
    expect(output).toContain('hello first|two words|$HOME')
    expect(workspace.calls).toEqual(SETUP)
    expect(workspace.has(LOCK)).toBe(false)
    expect(code).toBe(0)
  })

  it('needs no home folder', LONG, async () => {
    using workspace = new BootWorkspace()
    expect(await workspace.run(['hello'], { HOME: '/dev/null/nowhere' })).toMatchObject({ code: 0 })
    expect(workspace.has(`.tools/pnpm-${PNPM}/cache`)).toBe(false)
  })

  it('reports a missing network and leaves no incomplete pnpm', LONG, async () => {
    using workspace = new BootWorkspace()
    workspace.remove('substitutes')
    const { code, output } = await workspace.run(['hello'], {
      npm_config_registry: 'http://127.0.0.1:9',
      npm_config_fetch_retries: '0',
    })
    expect(output).toMatch(/ECONNREFUSED[^]*The npm registry could not be reached[^]*HTTPS_PROXY/)
    expect(workspace.has(`.tools/pnpm-${PNPM}`)).toBe(false)
    expect(workspace.has(LOCK)).toBe(false)
    expect(code).toBe(1)
  })

  it('shows the output of a pnpm that failed, and the next start installs again', async () => {
    using workspace = new BootWorkspace()
    const failed = await workspace.run(['hello'], { BOOT_PNPM_FAILURE: 'ERR_PNPM_OUTDATED_LOCKFILE  one was changed' })
    expect(failed.output).toMatch(/pnpm install --frozen-lockfile` failed[^]*one was changed[^]*Try again/)
    expect(failed.code).toBe(1)
    expect(workspace.has(STAMP)).toBe(false)
    expect((await workspace.run(['hello'])).code).toBe(0)
    expect(workspace.calls).toEqual([...SETUP, SETUP[1]])
  })

  it('replaces what an interrupted one left', LONG, async () => {
    using workspace = new BootWorkspace()
    workspace.write(`.tools/pnpm-${PNPM}.partial/node_modules/.bin/pnpm`, '')
    workspace.write('node_modules/.bin/node', 'half')
    expect((await workspace.run(['hello'])).code).toBe(0)
    expect(workspace.calls).toEqual(SETUP)
  })
})

describe('the next start', () => {
  let workspace: BootWorkspace
  beforeAll(async () => {
    workspace = new BootWorkspace()
    await workspace.run(['hello'])
  })
  afterAll(() => workspace[Symbol.dispose]())

  it('runs no package manager and prints only the output of the script', async () => {
    const before = workspace.calls
    expect(await workspace.run(['hello'])).toEqual({ code: 0, output: 'hello first\n' })
    expect(workspace.calls).toEqual(before)
  })

  it('installs after a change of a manifest or the lockfile, and without a stamp or Node', LONG, async () => {
    const before = workspace.calls
    const changes = [
      () => workspace.write('packages/one/package.json', '{ "name": "one" }'),
      () => workspace.write('pnpm-lock.yaml', 'lockfileVersion: 10\n'),
      () => workspace.remove(STAMP),
      () => workspace.remove('node_modules/.bin/node'),
    ]
    for (const [index, change] of changes.entries()) {
      change()
      expect((await workspace.run(['hello'])).code).toBe(0)
      expect(workspace.calls).toHaveLength(before.length + index + 1)
    }
    expect(workspace.calls.slice(before.length)).toEqual(changes.map(() => SETUP[1]))
  })

  it('fetches pnpm again if it was deleted', LONG, async () => {
    const before = workspace.calls
    workspace.remove('.tools')
    await workspace.run(['hello'])
    expect(workspace.calls).toEqual([...before, ...SETUP])
  })
})

describe('a signal', () => {
  it.each(['npm', 'pnpm'])('during the setup ends %s too, and the next start repeats the step', LONG, async (held) => {
    using workspace = new BootWorkspace()
    const { child, finished } = workspace.start(['hello'], { BOOT_HOLD: held })
    await expect.poll(() => workspace.calls.at(-1)).toMatch(new RegExp(`^${held} `))
    child.kill('SIGTERM')
    const { code, output } = await finished
    expect(output).toContain('Run the same command to continue.')
    expect(code).toBe(143)
    expect(workspace.has(STAMP)).toBe(false)
    expect(workspace.has(LOCK)).toBe(false)
    expect((await workspace.run(['hello'])).code).toBe(0)
  })

  it('reaches the script, and boot exits with the code of the script', async () => {
    using workspace = new BootWorkspace()
    workspace.write('hello.sh', 'trap "exit 7" TERM; echo ready; while :; do sleep 0.1; done\n')
    const { child, printed, finished } = workspace.start(['hello'])
    await printed('ready')
    child.kill('SIGTERM')
    expect((await finished).code).toBe(7)
  })
})

describe('two starts at once', () => {
  it('install once: the second waits for the first', async () => {
    using workspace = new BootWorkspace()
    const first = workspace.start(['hello'], { BOOT_HOLD: 'pnpm' })
    await expect.poll(() => workspace.calls).toEqual(SETUP)
    const second = workspace.start(['hello'])
    await second.printed(`Waiting for another setup (process ${first.child.pid})`)
    workspace.write('gate/open', '')
    expect([await first.finished, await second.finished].map(({ code }) => code)).toEqual([0, 0])
    expect(workspace.calls).toEqual(SETUP)
  })

  it('take over the lock of a start that was killed', LONG, async () => {
    using workspace = new BootWorkspace()
    const { child } = workspace.start(['hello'], { BOOT_HOLD: 'npm' })
    await expect.poll(() => workspace.calls).toEqual([SETUP[0]])
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect((await workspace.run(['hello'])).code).toBe(0)
    expect(workspace.calls).toEqual([SETUP[0], ...SETUP])
  })
})

it('lists the scripts if there is none of the given name', async () => {
  using workspace = new BootWorkspace()
  const { code, output } = await workspace.run(['constructor'])
  expect(output).toContain('Usage: node scripts/boot.mjs hello [arguments]')
  expect(workspace.calls).toEqual([])
  expect(code).toBe(1)
})
