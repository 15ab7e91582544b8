import { expect, it } from 'vitest'
import { usesHome, withHome, withHomeVariable, type LocalServerConfig } from '../src/index.ts'

const written: LocalServerConfig = {
  command: ['node', '{home}/servers/x.mjs', '--at={home}', '{homes}/y', '{home}'],
  requires: { fs: { read: ['{workspace}', '{home}/data'], write: ['{home}'] }, net: { hosts: ['a.test'] } },
}
const absolute: LocalServerConfig = {
  command: ['node', '/h/.b/servers/x.mjs', '--at={home}', '{homes}/y', '/h/.b'],
  requires: { fs: { read: ['{workspace}', '/h/.b/data'], write: ['/h/.b'] }, net: { hosts: ['a.test'] } },
}

it('{home} stands at the start of words and of granted paths', () => {
  expect(withHome(written, '/h/.b')).toEqual(absolute)
  expect(withHomeVariable(absolute, '/h/.b')).toEqual(written)
  expect([usesHome(written), usesHome(absolute)]).toEqual([true, false])
})

it('a folder beside the home, and an entry without grants, stay as they are', () => {
  const beside = { command: ['/h/.bulkhead-other/x'], jail: false }
  expect([withHomeVariable(beside, '/h/.b'), withHome(beside, '/h/.b')]).toEqual([beside, beside])
})
