import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, Outcome } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../scripts/machine.ts'
import { commandEnvironment, shownVariables } from '../src/facade/command-environment.ts'
import { createHost } from '../src/index.ts'
import { CACHE } from './cache.ts'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-command-environment-')))
  mkdirSync(join(folder, 'work'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const PROXY = 'http://user:password@proxy.example:3128'

describe('the variables of commands', () => {
  const of = (env: Record<string, string>, commands: ConfigFile['commands'] = {}) =>
    commandEnvironment({ HOME: '/home/u', ...env }, commands)

  it('include those for proxies, certificates and language, and no others of the host', () => {
    const usual = {
      HTTPS_PROXY: 'http://proxy.example', no_proxy: 'localhost', SSL_CERT_FILE: '/c.pem', LC_ALL: 'de_DE@euro',
      TZ: 'UTC',
    }
    const { env } = of({ ...usual, AWS_SECRET_ACCESS_KEY: 'x', NODE_OPTIONS: '-r x', GIT_SSH: 'x', MY_NAME: 'x' })
    expect(env).toMatchObject(usual)
    expect(Object.keys(env).filter((name) => /AWS|NODE_OPTIONS|GIT_SSH$|MY_NAME/.test(name))).toEqual([])
  })

  it('include what a configuration names or sets, which replaces the value of the host', () => {
    const { env } = of(
      { JAVA_HOME: '/j', OTHER: 'x', TZ: 'UTC' },
      { env: { pass: ['JAVA_HOME', 'ABSENT'], set: { TZ: 'Europe/Berlin', CI: '1' } } },
    )
    expect(env).toMatchObject({ JAVA_HOME: '/j', TZ: 'Europe/Berlin', CI: '1' })
    expect(env).not.toHaveProperty('OTHER')
    expect(env).not.toHaveProperty('ABSENT')
  })

  it.each([
    ['HTTPS_PROXY', PROXY, true], ['http_proxy', 'user:password@proxy.example:3128', true],
    ['ALL_PROXY', 'socks5h://u:p@h', true], ['DATABASE_URL', 'postgres://u:p@db/x', true],
    ['HTTPS_PROXY', 'http://proxy.example:3128', false], ['NPM_CONFIG_REGISTRY', 'https://r.example/@scope', false],
    ['EMAIL', 'me@example.com', false],
  ])('wait for approval if they have a password: %s=%s %s', (name, value, isGuarded) => {
    const { env, guarded } = of({ [name]: value }, { env: { pass: [name] } })
    expect([Object.hasOwn(env, name), guarded]).toEqual([!isGuarded, isGuarded ? { [name]: value } : {}])
  })

  it('are shown by name, and with their value only if it was set and is no secret', () => {
    const commands = { env: { pass: ['JAVA_HOME'], set: { CI: '1', NPM_TOKEN: 'secret', HTTPS_PROXY: PROXY } } }
    const shown = shownVariables(of({ JAVA_HOME: '/secret' }, commands), commands)
    expect(shown).toEqual(expect.arrayContaining([
      { name: 'PATH' }, { name: 'HOME' }, { name: 'JAVA_HOME' }, { name: 'CI', value: '1' }, { name: 'NPM_TOKEN' },
      { name: 'HTTPS_PROXY', guarded: true },
    ]))
    expect(JSON.stringify(shown)).not.toMatch(/secret|password/)
  })

  it('do not change what else they may read: folders of the home, and others', () => {
    expect(of({}, { read: ['~', '~/.pyenv', '/srv/data/'] }).read).toEqual(['/home/u', '/home/u/.pyenv', '/srv/data'])
    expect(commandEnvironment({}, { read: ['~/.pyenv'] }).read).toEqual([])
  })
})

describe('a password of a proxy', () => {
  /** Two programs that print their environment. `ls` is known to only read, so it runs unasked. */
  async function sessionWith(config: ConfigFile) {
    mkdirSync(join(folder, 'bin'))
    for (const name of ['ls', 'show']) writeFileSync(join(folder, 'bin', name), '#!/bin/sh\nenv\n', { mode: 0o755 })
    const host = await createHost({
      workspace: join(folder, 'work'), home: join(folder, 'home'), cache: CACHE, config, trust: 'trusted',
      env: {
        PATH: `${join(folder, 'bin')}:/usr/bin:/bin`, HOME: join(folder, 'home'), HTTPS_PROXY: PROXY,
        HTTP_PROXY: 'http://proxy.example',
      },
    })
    onTestFinished(async () => void await host.close())
    const session = await host.openSession({ approver: { approve: async () => ({ decision: 'once' }) } })
    return async (command: string): Promise<readonly string[]> => {
      const outcome: Outcome = await session.call({ id: crypto.randomUUID(), name: 'bash', arguments: { command } })
      const text = JSON.stringify(outcome)
      return ['http://proxy.example', 'password'].filter((part) => text.includes(part))
    }
  }

  it('is not in the environment of a command that runs unasked', async () => {
    const bash = await sessionWith({})
    expect(await bash('ls')).toEqual(['http://proxy.example'])
    expect(await bash('show')).toEqual(['http://proxy.example', 'password'])
    expect(await bash('for i in 1; do show; done')).toEqual(['http://proxy.example', 'password'])
  })

  it('is there if a rule allows the command, and not if the mode allows everything', async () => {
    const bash = await sessionWith({ mode: 'yolo', rules: [{ permission: 'bash', pattern: 'show', action: 'allow' }] })
    expect(await bash('show')).toEqual(['http://proxy.example', 'password'])
    expect(await bash('show now')).toEqual(['http://proxy.example'])
  })

  it('is not there if only a rule of the project allows the command', async () => {
    mkdirSync(join(folder, 'work/.bulkhead'))
    const rules = [{ permission: 'bash', pattern: 'show', action: 'allow' }]
    writeFileSync(join(folder, 'work/.bulkhead/config.json'), JSON.stringify({ rules }))
    const bash = await sessionWith({ mode: 'yolo' })
    expect(await bash('show')).toEqual(['http://proxy.example'])
  })
})

describe('what commands see behind bubblewrap', needs('bubblewrap'), () => {
  it('is what the user names, in a home that is otherwise empty', async () => {
    for (const name of ['tool/version', '.ssh/id', 'note']) {
      mkdirSync(join(folder, 'home', name, '..'), { recursive: true })
      writeFileSync(join(folder, 'home', name), `${name}\n`)
    }
    const host = await createHost({
      workspace: join(folder, 'work'), home: join(folder, 'home/.bulkhead'), cache: CACHE,
      config: { commands: { read: ['~/tool'] } },
      env: { PATH: '/usr/bin:/bin', HOME: join(folder, 'home') },
    })
    onTestFinished(async () => void await host.close())
    const session = await host.openSession({ approver: { approve: async () => ({ decision: 'once' }) } })
    const home = join(folder, 'home')
    const command = `for name in tool/version .ssh/id note .bulkhead; do cat ${home}/$name; done; `
      + `ls -A ${home}; echo x > ${home}/tool/version`
    const outcome = await session.call({ id: 'a', name: 'bash', arguments: { command } })
    expect(outcome).toMatchObject({ type: 'output', data: { stdout: 'tool/version\ntool\n' } })
  })
})

describe('explain', () => {
  const explain = ['explain', 'bash', '--args', '{"command":"ls"}']
  beforeEach(() => {
    mkdirSync(join(folder, 'home/.bulkhead'), { recursive: true })
    const commands = { env: { pass: ['LD_PRELOAD'], set: { CI: '1', HTTPS_PROXY: PROXY } } }
    writeFileSync(join(folder, 'home/.bulkhead/config.json'), JSON.stringify({ commands }))
  })

  it('shows the environment of commands, without secrets', async () => {
    const { stdout } = await inside(explain, folder)
    expect(stdout).toMatch(/Its commands get\n(?: {2}- .*\n)* {2}- CI=1\n/)
    expect(stdout).toContain('  - HTTPS_PROXY, after approval: it has a password\n')
    expect(stdout).not.toMatch(/user:password/)
    const { stdout: json } = await inside([...explain, '--json'], folder)
    expect((JSON.parse(json) as { environment: object[] }).environment).toContainEqual({
      name: 'HTTPS_PROXY', guarded: true,
    })
    expect((await inside(['explain', 'read', '--args', '{"path":"a"}'], folder)).stdout).not.toContain(
      'Its commands get',
    )
  })

  it('agrees with doctor, which names a variable that commands never get', async () => {
    const { stdout } = await inside(['doctor'], folder)
    expect(stdout).toContain('LD_PRELOAD makes programs load or run other code, so commands never get it')
  })
})
