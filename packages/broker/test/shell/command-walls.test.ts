import {
  appendFileSync, chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync,
  symlinkSync, writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG } from '../../../../scripts/thoroughly.ts'
import type { ShellOptions } from '../../src/shell/shell.ts'
import { ShellSetup } from './shell-setup.ts'

let setup = new ShellSetup()
beforeEach(async () => {
  await setup.clear()
  setup = new ShellSetup()
})
afterAll(() => setup.clear())


/** Outside /tmp, which every sandbox has its own of. */
function folderOutside(): string {
  const folder = realpathSync(mkdtempSync('/var/tmp/bulkhead-outside-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** A file with these contents, and the folders above it. */
function file(path: string, content = '', mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

const run = async (kind: 'look' | 'work', script: string, options: Partial<ShellOptions> = {}) => {
  const { shell } = setup.open(setup.everything(), { path: ['/usr/bin', '/bin'], ...options })
  return shell.pipe([{ cmd: 'sh', args: ['-c', script] }], { wall: kind })
}

describe('commands behind bubblewrap', needs('bubblewrap'), () => {
  describe.each(['look', 'work'] as const)('of the kind %s', (kind) => {
    it('cannot take the wall down, also if the host is root', async () => {
      const outside = folderOutside()
      const made = [join(outside, 'made'), '/usr/made', '/made']
      onTestFinished(() => made.forEach((path) => rmSync(path, { force: true })))
      const core = '/proc/sys/kernel/core_pattern'
      const { stdout, stderr } = await run(kind, `
        for place in / /usr /etc /proc ${outside}; do
          mount -o remount,rw "$place"; mount -o remount,rw,bind "$place"
        done
        for path in ${made.join(' ')}; do echo x > $path; done
        cat ${core} > ${core} && echo kernel
        true >> /proc/sysrq-trigger && echo sysrq
        unshare --user --map-root-user --mount --pid --fork sh -c \
          'mount -t proc proc /proc && cat ${core} > ${core} && echo nested; mount -o remount,rw /usr && echo remounted'
        grep CapEff /proc/self/status`)
      expect(stdout, stderr).toBe('CapEff:\t0000000000000000\n')
      expect(made.filter((path) => existsSync(path))).toEqual([])
    })

    it('see the system and the workspace, and nothing else', async () => {
      const outside = folderOutside()
      file(join(outside, 'note'))
      file(join(setup.root, 'note'))
      file(join(setup.workspace, 'note'))
      const { stdout } = await run(kind, `
        for path in ${outside}/note ${setup.root}/note /var/log /root /home /run /sys /boot /srv /mnt; do
          [ -e $path ] && echo $path
        done
        for path in note /usr/bin/env /etc/passwd /etc/group /dev/null /proc/self/status; do
          [ -r $path ] || echo no $path
        done
        ls -A /tmp`)
      expect(stdout.split('\n').filter((line) => line !== '' && !line.startsWith('bulkhead-'))).toEqual([])
    })

    it('read no secrets of the system, also if the host is root', async () => {
      const { stdout } = await run(kind, `
        cat /etc/shadow /etc/gshadow /etc/shadow- /etc/security/opasswd
        ls -A /etc/ssh /etc/ssl/private
        find /etc -type f ! -perm -o=r -size +0`)
      expect(stdout.split('\n').filter((line) => line !== '' && !line.endsWith(':'))).toEqual([])
    })
  })

  it('write private folders: /tmp, and a home that is another one', async () => {
    const home = folderOutside()
    file(join(home, 'secret.txt'), 'secret')
    const operator = { path: ['/usr/bin', '/bin'], env: { HOME: home } }
    const script = `ls -A ~; ls -A ${home}; echo x > ~/x; echo x > /tmp/y; cat ~/x /tmp/y`
    expect((await run('work', script, { operator })).stdout).toBe('x\nx\n')
    expect(existsSync(join(home, 'x'))).toBe(false)
  })
})

describe('git behind bubblewrap', needs('bubblewrap', 'git'), () => {
  it('knows the user, and nothing else of their settings', LONG, async () => {
    const home = folderOutside()
    file(join(home, 'more'), '[user]\n\temail = "me@example.com"\n')
    file(join(home, '.gitconfig'), [
      '[user]\n\tname = "A \\"B\\" C"\n', '[include]\n\tpath = more\n', '[credential]\n\thelper = secret\n',
      '[safe]\n\tdirectory = /one\n\tdirectory = /two\n',
    ].join(''))
    const operator = { path: ['/usr/bin', '/bin'], env: { HOME: home } }
    const work = async (script: string) => (await run('work', script, { operator })).stdout.trim().split('\n')
    const settings = ['user.name=A "B" C', 'user.email=me@example.com', 'safe.directory=/one', 'safe.directory=/two']
    expect((await work('git config --global --list')).toSorted()).toEqual(settings.toSorted())
    const commit = 'git commit -q --allow-empty -m "$(echo one)" && git log -1 --format="%an <%ae>"'
    expect(await work(`git init -q && ${commit}`)).toEqual(['A "B" C <me@example.com>'])
    appendFileSync(join(setup.workspace, '.git/config'), '[user]\n\temail = other@example.com\n')
    expect(await work(commit)).toEqual(['A "B" C <other@example.com>'])
    file(join(home, '.gitconfig'), '[user]\n\tname = New\n')
    expect(await work('git config user.name')).toEqual(['New'])
  })
})

/** The home of a person who installed Node there, as nvm does. Both programs are short scripts. */
function homeWithNode(): string {
  const home = folderOutside()
  const version = join(home, '.nvm/versions/node/v1.0.0')
  file(join(version, 'bin/node'), '#!/bin/sh\necho node "$@"\n', 0o755)
  file(join(version, 'lib/node_modules/npm/package.json'), '{ "version": "1.0.0" }')
  file(join(version, 'lib/node_modules/npm/bin/npm-cli.js'),
    '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../package.json"\n', 0o755)
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(version, 'bin/npm'))
  for (const name of ['.ssh/id_rsa', 'secret.txt', '.nvm/alias/default', '.nvm/versions/node/v1.0.0/share/man']) {
    file(join(home, name), 'secret')
  }
  return home
}

describe('programs in a home', needs('bubblewrap'), () => {
  const operatorOf = (home: string, ...folders: readonly string[]) =>
    ({ path: [...folders.map((folder) => join(home, folder)), '/usr/bin', '/bin'], env: { HOME: home } })
  const NODE = '.nvm/versions/node/v1.0.0/bin'

  it('run, with what belongs to Node, and nothing else is visible', async () => {
    const home = homeWithNode()
    const packageFolder = join(home, NODE, '../lib/node_modules/npm')
    const node = join(home, NODE, 'node')
    copyFileSync(process.execPath, node)
    const npm = file(join(packageFolder, 'bin/npm-cli.js'),
      "#!/usr/bin/env node\nconsole.log('npm', require('../package.json').version, ...process.argv.slice(2))\n", 0o755)
    file(join(setup.workspace, 'script.js'), 'console.log(process.execPath, process.argv[2])')
    for (const kind of ['look', 'work'] as const) {
      const script = `node script.js argument && npm test && find ${home} -type f | sort`
      const { stdout } = await run(kind, script, { operator: operatorOf(home, NODE) })
      expect(stdout.trim().split('\n'))
        .toEqual([`${node} argument`, 'npm 1.0.0 test', node, npm, join(packageFolder, 'package.json')])
    }
  })

  it('run through links, of folders and of files', LONG, async () => {
    const home = homeWithNode()
    symlinkSync('versions/node/v1.0.0', join(home, '.nvm/current'))
    mkdirSync(join(home, 'bin'))
    symlinkSync('../.nvm/current/bin/npm', join(home, 'bin/npm'))
    const through = async (folder: string) => (await run('look', 'npm', { operator: operatorOf(home, folder) })).stdout
    expect([await through('bin'), await through('.nvm/current/bin')])
      .toEqual(['{ "version": "1.0.0" }', '{ "version": "1.0.0" }'])
  })

  it('run in a folder that is visible anyway, through links in it', LONG, async () => {
    const home = homeWithNode()
    symlinkSync(join(home, '.nvm/versions/node/v1.0.0'), join(home, '.nvm/current'))
    const operator = { ...operatorOf(home, '.nvm/current/bin'), read: [join(home, '.nvm')] }
    expect((await run('look', `npm && cat ${home}/.nvm/alias/default`, { operator })).stdout)
      .toBe('{ "version": "1.0.0" }secret')
  })

  it.each(['.', '.local', 'link'])('do not make a whole home visible, if PATH has %s', LONG, async (folder) => {
    const home = homeWithNode()
    file(join(home, '.local/share/keyring'), 'secret')
    file(join(home, folder === 'link' ? 'tool' : folder, 'tool'), '#!/bin/sh\n', 0o755)
    symlinkSync('.', join(home, 'link'))
    const { stdout } = await run('look', `cat ${home}/secret.txt ${home}/.local/share/keyring`, {
      operator: operatorOf(home, folder),
    })
    expect(stdout).toBe('')
  })

  it('are not visible in a folder that a tool can write', LONG, async () => {
    const home = homeWithNode()
    const { shell } = setup.open({ ...setup.everything(), fs: { read: [], write: [join(home, '.nvm')] } },
      { operator: operatorOf(home, NODE) })
    const { stdout } = await shell.pipe([{ cmd: 'sh', args: ['-c', `find ${home} -type f`] }], { wall: 'work' })
    expect(stdout).toBe('')
  })

  it('are joined by what the operator names, without credentials in it unless they are named', LONG, async () => {
    const home = homeWithNode()
    const seen = async (...names: readonly string[]) => {
      const operator = { ...operatorOf(home), read: names.map((name) => join(home, name)) }
      const { stdout } = await run('work', `cd ${home} && cat secret.txt .ssh/id_rsa; echo x >> secret.txt`, {
        operator,
      })
      return stdout
    }
    expect([await seen('.'), await seen('secret.txt'), await seen('.ssh'), await seen('missing')])
      .toEqual(['secret', 'secret', 'secret', ''])
    expect(readFileSync(join(home, 'secret.txt'), 'utf8')).toBe('secret')
  })

  it('are joined by certificates that variables name', LONG, async () => {
    const home = homeWithNode()
    const certificate = file(join(home, '.config/ca.pem'), 'certificate')
    file(join(home, '.config/token'), 'secret')
    const { path, env } = operatorOf(home)
    const operator = { path, env: { ...env, NODE_EXTRA_CA_CERTS: certificate, SSL_CERT_DIR: `${home}:/nowhere` } }
    expect(
      (await run('look', `cat "$NODE_EXTRA_CA_CERTS" ${home}/.config/token ${home}/secret.txt`, { operator })).stdout,
    ).toBe('certificate')
  })
})
