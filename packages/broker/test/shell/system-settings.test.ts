import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { settingsMounts } from '../../src/shell/system-settings.ts'

const root = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-settings-')))
const settings = join(root, 'etc')
afterAll(() => rmSync(root, { recursive: true }))

function file(name: string, mode = 0o644, content = ''): void {
  const path = join(settings, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  chmodSync(path, mode)
}

const covered = () => settingsMounts(settings)
  .flatMap(({ to, kind }) => kind === 'file' || kind === 'folder' ? [`${kind} ${to.slice(settings.length + 1)}`] : [])
  .toSorted()

it('covers secrets, by their names, their permissions and their content', () => {
  const KEY = '-----BEGIN PRIVATE KEY-----'
  for (const name of [
    'passwd', 'hosts', 'ssl/openssl.cnf', 'ssl/certs/ca.crt', 'app/app.pem', 'shadow', 'shadow-', 'gshadow',
    'ssh/sshd_config', 'ssl/private/server.crt', 'app/tls.key', 'app/ssh_host_rsa_key', 'app/ssh_host_rsa_key.pub',
    'krb5.keytab',
  ])
    file(name)
  file('app/password', 0o640)
  file('app/both.pem', 0o644, `certificate\n${KEY}\n`)
  file('vpn/office', 0o644)
  chmodSync(join(settings, 'vpn'), 0o700)
  symlinkSync('shadow', join(settings, 'link'))
  expect(covered()).toEqual([
    'file app/both.pem', 'file app/password', 'file app/ssh_host_rsa_key', 'file app/tls.key', 'file gshadow',
    'file krb5.keytab', 'file shadow', 'file shadow-', 'folder ssh', 'folder ssl/private', 'folder vpn',
  ])
})

it('notices a secret that appears later', () => {
  file('later/settings')
  const before = covered()
  file('later/deep/token', 0o600)
  expect(covered()).toEqual([...before, 'file later/deep/token'].toSorted())
  rmSync(join(settings, 'later/deep/token'))
  expect(covered()).toEqual(before)
})

it('makes a setting visible that is a link to elsewhere', () => {
  const between = join(root, 'run/linked')
  const target = join(root, 'run/resolv.conf')
  mkdirSync(dirname(target))
  writeFileSync(target, 'nameserver 192.0.2.1')
  symlinkSync('resolv.conf', between)
  symlinkSync('../run/linked', join(settings, 'resolv.conf'))
  const seen = settingsMounts(settings).flatMap((mount) => mount.kind === 'read' ? [`${mount.from} ${mount.to}`] : [])
  expect([...new Set(seen)]).toEqual([`${settings} ${settings}`, `${target} ${between}`, `${target} ${target}`])
})
