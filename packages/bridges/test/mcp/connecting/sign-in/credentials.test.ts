import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { CredentialFile } from '../../../../src/mcp/connecting/sign-in/credentials.ts'

it('tokens of one address are not used for another one', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'bulkhead-credentials-'))
  onTestFinished(() => rmSync(parent, { recursive: true }))
  const folder = join(parent, 'oauth')
  const [one, other] = ['one', 'other'].map((name) => new CredentialFile(folder, new URL(`https://${name}.example/`)))
  const save = (file: CredentialFile) => file.change((before) => ({ ...before, scope: 'a' }))
  await save(one!)
  const [own] = readdirSync(folder)
  await save(other!)
  const others = readdirSync(folder).find((name) => name !== own)
  expect(other!.read()).toMatchObject({ scope: 'a' })
  renameSync(join(folder, own!), join(folder, others!))
  expect([one!.read(), other!.read()]).toEqual([undefined, undefined])
})
