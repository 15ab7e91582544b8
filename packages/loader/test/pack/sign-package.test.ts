import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { inspectPackage } from '../../src/install/obtain-package.ts'
import { packFolder } from '../../src/pack/pack-folder.ts'
import { signPackage, signTarball } from '../../src/pack/sign-package.ts'
import { HomeFixture } from '../home-fixture.ts'
import { folderOf, packageFiles } from '../install/install-fixture.ts'
import { BUILD, SigstoreFixture } from '../signature/sigstore-fixture.ts'

let sigstore: SigstoreFixture
beforeAll(async () => { sigstore = await SigstoreFixture.start() })
afterAll(() => sigstore[Symbol.asyncDispose]())
beforeEach(() => { process.env['SIGSTORE_ID_TOKEN'] = sigstore.tokenOf() })
afterEach(() => { delete process.env['SIGSTORE_ID_TOKEN'] })

test('signs a folder and a tarball, so that a host knows the signer', async () => {
  using home = new HomeFixture()
  const loader = home.options({ trustRoot: sigstore.trustRoot })
  const options = { loader, signing: { trustRoot: sigstore.trustRoot } }
  const folder = join(home.base, folderOf(home, packageFiles()))
  const packed = await packFolder(folder, { loader })
  const signed = await signPackage(packed.files, folder, options)
  expect(signed.extension).toMatchObject({
    integrity: 'signed', signer: { subject: BUILD.sub }, digests: packed.extension.digests,
  })

  // The next packing of the folder has the signature; an earlier one is left out to sign again.
  writeFileSync(join(folder, 'bulkhead.sigstore.json'), signed.signature)
  expect(Buffer.from((await packFolder(folder, { loader })).tarball)).toEqual(Buffer.from(signed.tarball))
  writeFileSync(join(folder, 'index.js'), 'export default { changed: true }')
  const again = await packFolder(folder, { loader, unsigned: true })
  expect([...again.files.keys()]).not.toContain('bulkhead.sigstore.json')

  const tarball = join(home.base, 'packed.tgz')
  writeFileSync(tarball, signed.tarball)
  writeFileSync(tarball, (await signTarball(tarball, options)).tarball)
  expect(await inspectPackage(tarball, home.base, loader)).toMatchObject({ extension: { integrity: 'signed' } })
})

test('refuses a tarball without an integrity file', async () => {
  using home = new HomeFixture()
  const files = new Map([['bulkhead.json', Buffer.from('{}')]])
  const options = { loader: home.options(), signing: { trustRoot: sigstore.trustRoot } }
  await expect(signPackage(files, 'a.tgz', options)).rejects.toMatchObject({ code: 'IntegrityTokenMissing' })
})
