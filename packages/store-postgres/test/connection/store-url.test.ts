import { expect, it } from 'vitest'
import { readStoreUrl } from '../../src/index.ts'

const read = (url: string, env = {}) => readStoreUrl(url, env)

it('reads a URL with the words of libpq', () => {
  expect(read('postgres://me:a%2Fb@db.test:6000/agents?sslmode=verify-ca&sslrootcert=/ca.pem&name=web-1&schema=s_1'))
    .toMatchObject({
      host: 'db.test', port: 6000, user: 'me', password: 'a/b', database: 'agents', sslmode: 'verify-ca',
      sslrootcert: '/ca.pem', hostName: 'web-1', schema: 's_1', shown: 'postgres://me@db.test:6000/agents?schema=s_1',
    })
  expect(read('postgresql://me@/agents?host=/run/postgresql')).toMatchObject({
    host: '/run/postgresql', database: 'agents', sslmode: 'disable',
    shown: 'postgres://me@/agents?host=/run/postgresql',
  })
})

it('fills gaps from the variables of libpq', () => {
  const env = {
    PGHOST: 'db.test', PGPORT: '6000', PGUSER: 'me', PGPASSWORD: 'x', PGSSLMODE: 'require', PGPASSFILE: '/p',
  }
  expect(read('postgres://', env)).toMatchObject({
    host: 'db.test', port: 6000, user: 'me', password: 'x', database: 'me', sslmode: 'require', passfile: '/p',
  })
})

it('verifies the server unless it is on this machine', () => {
  const modeOf = (host: string) => read(`postgres://me@${host}/x`).sslmode
  expect(['db.test', '10.0.0.1', 'localhost', '127.0.0.1', '[::1]'].map(modeOf))
    .toEqual(['verify-full', 'verify-full', 'disable', 'disable', 'disable'])
})

it.each([
  ['a URL of another kind', 'mysql://me:secret@db.test/x', 'must begin with'],
  ['a URL that cannot be read', 'postgres://me:sec/ret@db.test:x/y', 'cannot be read'],
  ['an unknown word', 'postgres://me:secret@db.test/x?sslmod=require', 'unknown parameter "sslmod"'],
  ['a word with a password in it', 'postgres://me@db.test/x?secret%20word=1', 'unknown parameter.'],
  ['a mode that does not protect', 'postgres://me:secret@db.test/x?sslmode=prefer', 'sslmode'],
  ['an invalid port', 'postgres://me:secret@/x?port=70000', 'port'],
  ['an invalid schema', 'postgres://me:secret@db.test/x?schema=a"b', 'schema'],
  ['several hosts', 'postgres://me:secret@/x?host=a,b', 'several hosts'],
  ['a slash in a password', 'postgres://me:12/secret@db.test/x', 'not encoded'],
  ['a hash sign in a password', 'postgres://me:12#secret@db.test/x', 'not encoded'],
  ['a question mark in a password', 'postgres://me:12?secret=x@db.test/x', 'unknown parameter.'],
  ['a question mark before a whole password', 'postgres://me:12?secret', 'unknown parameter.'],
  ['a lone percent sign', 'postgres://me:sec%zzret@db.test/x', 'percent|cannot be read'],
])('refuses %s without repeating it', (_, url, words) => {
  const error = (() => {
    try {
      read(url)
    } catch (thrown) {
      return thrown as { readonly code: string; readonly message: string }
    }
    return undefined
  })()
  expect(error).toMatchObject({ code: 'ConfigInvalid', message: expect.stringMatching(new RegExp(words)) as unknown })
  expect(`${JSON.stringify(error)}${error!.message}`).not.toMatch(/secret|sec\/ret|sec%zz/)
})
