import { expect, it } from 'vitest'
import { SignInDesk } from '../../src/server/access/sign-in.ts'

it('a token is void after five minutes', () => {
  let now = 0
  const desk = new SignInDesk(() => now)
  const [first, second] = [desk.token(), desk.token()]
  now = 5 * 60_000 - 1
  expect(desk.exchange(first)).toMatch(/^[\w-]{43}$/)
  now = 5 * 60_000
  expect(() => desk.exchange(second)).toThrow(expect.objectContaining({ code: 'TokenInvalid' }))
})

it('keeps a bounded number of tokens and keys', () => {
  const desk = new SignInDesk(() => 0)
  const oldest = desk.token()
  for (let count = 0; count < 8; count++) desk.token()
  expect(() => desk.exchange(oldest)).toThrow(expect.objectContaining({ code: 'TokenInvalid' }))
  const keys = Array.from({ length: 65 }, () => desk.exchange(desk.token()))
  expect(() => desk.require(`Bearer ${keys[0]}`)).toThrow(expect.objectContaining({ code: 'SignInNeeded' }))
  expect(() => desk.require(`Bearer ${keys[64]}`)).not.toThrow()
})

it.each([null, '', 'Bearer', 'Bearer ', 'Basic abc', 'Bearer a b'])('refuses the header %j', (header) => {
  const desk = new SignInDesk()
  desk.exchange(desk.token())
  expect(() => desk.require(header)).toThrow(expect.objectContaining({ code: 'SignInNeeded' }))
})
