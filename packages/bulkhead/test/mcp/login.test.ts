import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { AccountServer } from '../../../bridges/test/mcp/connecting/fixtures/account-server.ts'
import { inside } from '../command-inside.ts'

let folder: string
let home: string
let server: AccountServer
beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-login-')))
  home = join(folder, 'home/.bulkhead')
  mkdirSync(home, { recursive: true })
  server = await new AccountServer().open()
  writeFileSync(
    join(home, 'config.json'), JSON.stringify({ mode: 'yolo', mcp: { ship: { type: 'remote', url: server.url } } }),
  )
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

/** A person who opens the printed address. */
const visit = (text: string) => {
  const [page] = /^http:\S+$/m.exec(text) ?? []
  if (page !== undefined) void fetch(page)
}

it('signs in and out on the command line, and tells how where no person can', async () => {
  expect(await inside(['tools', '--connect'], folder)).toMatchObject({
    stdout: expect.stringContaining('Run `bulkhead mcp login ship`'),
  })
  expect(await inside(['mcp', 'login', 'ship'], folder, {}, visit)).toMatchObject({
    code: 0, stdout: 'Signed in to ship. It offers 1 tool.\n',
    stderr: expect.stringContaining(`${server.origin}/authorize?`),
  })
  expect(readdirSync(join(home, 'oauth'))).toHaveLength(1)
  expect(await inside(['mcp', 'logout', 'ship'], folder)).toMatchObject({
    stdout: 'The tokens of ship were deleted.\n',
  })
})

it.each([
  [['login'], 'Name one server'], [['login', 'ship', 'two'], 'Name one server'],
  [['login', 'ship', '--port', 'x'], '--port must be'], [['logout', 'ship', '--port', '1'], '--port cannot be used'],
  [['login', 'ship', '--mode', 'ask'], '--mode cannot be used'],
  [['logn'], 'Unexpected argument "logn" after "mcp". Did you mean "login"'],
  [['login', 'harbour'], 'There is no MCP server "harbour"'],
])('refuses mcp %j with what is wrong', async (args, message) => {
  expect(await inside(['mcp', ...args], folder)).toMatchObject({ stdout: '', stderr: expect.stringContaining(message) })
})
