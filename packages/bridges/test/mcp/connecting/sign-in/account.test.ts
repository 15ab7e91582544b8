import { expect, it } from 'vitest'
import { Account } from '../../../../src/mcp/connecting/sign-in/account.ts'

function account() {
  let secrets: ReadonlyMap<string, string> = new Map()
  const made = new Account({
    name: 'ship', url: new URL('https://ship.example'), settings: {}, credentials: { read: () => undefined } as never,
    onSecrets: (known) => { secrets = known },
  })
  return { made, secrets: () => [...secrets.values()] }
}

it('keeps the last 16 secrets, none of which is short, out of messages', () => {
  const { made, secrets } = account()
  for (let index = 0; index < 20; index++) made.keepSecret('token', `token-number-${index}`)
  for (const value of ['token-number-19', 'short', undefined]) made.keepSecret('token', value)
  expect(secrets()).toEqual(Array.from({ length: 16 }, (_, index) => `token-number-${index + 4}`))
  const { message } = made.signInFailed(new Error('token-number-19 is invalid'))
  expect(message).toContain(': [secret token 16] is invalid.')
})

it('the reason of a server is cut after 500 characters', () => {
  expect(account().made.signInFailed(new Error('x'.repeat(1_000))).message).toMatch(/: x{499}…\.$/)
})
