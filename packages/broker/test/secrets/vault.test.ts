import { expect, it } from 'vitest'
import { Vault } from '../../src/secrets/vault.ts'

it('combines a secret with 16 user names, and with each of them again', () => {
  const grant = { value: 'canary-0123456789', hosts: ['a.test'], commands: [] }
  const vault = new Vault(new Map(Object.entries({ TOKEN: grant, OTHER: grant })), new Set())
  const [token, other] = [vault.get('TOKEN')!, vault.get('OTHER')!]
  const names = Array.from({ length: 16 }, (_, index) => `user-${index}`)
  for (const name of [...names, ...names]) vault.derive(token, name)
  expect(() => vault.derive(token, 'user-16')).toThrow('The secret TOKEN is combined with too many user names.')
  vault.derive(other, 'user-16')
})
