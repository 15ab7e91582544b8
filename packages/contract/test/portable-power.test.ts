import { expect, it } from 'vitest'
import { compileCeiling, compileGrant, localPower, narrowPower, portablePower } from '../src/index.ts'

const CALLER = { 'workspace': ['/home/ada/shop'], 'user-data': ['/home/ada/.bulkhead/data'] }
const WORKER = { 'workspace': ['/srv/shop'], 'user-data': ['/var/bulkhead/data'] }

const requires = {
  fs: { read: ['{workspace}/src/**', '{user-data}'], write: ['{workspace}'] }, net: { hosts: ['api.test'] },
}

it('a power names the folders of the machine where it is used', () => {
  const portable = portablePower(compileGrant(requires, CALLER), CALLER)
  expect(portable.fs).toEqual({ read: ['{workspace}/src/**', '{user-data}'], write: ['{workspace}'] })
  expect(localPower(portable, WORKER)).toEqual(compileGrant(requires, WORKER))
})

it('a ceiling moves with the power that it limits', () => {
  const ceiling = { fs: { read: ['{workspace}/src/a/**'] } }
  const narrowed = (values: typeof CALLER) =>
    narrowPower(compileGrant(requires, values), compileCeiling(ceiling, values))
  expect(localPower(portablePower(narrowed(CALLER), CALLER), WORKER).ceilings).toEqual(narrowed(WORKER).ceilings)
})

it('a path of another machine is granted nowhere', () => {
  const portable = portablePower(compileGrant(requires, CALLER), { workspace: ['/home/ada/shop'] })
  expect(portable.fs.read).toContain('/home/ada/.bulkhead/data')
  expect(localPower(portable, WORKER).fs.read).toEqual(['/srv/shop/src/**'])
  expect(localPower(portable, {}).fs).toEqual({ read: [], write: [] })
})

it('a folder whose name only begins like the workspace is not in it', () => {
  const beside = { ...compileGrant({}, {}), fs: { read: ['/home/ada/shopping/x'], write: [] } }
  expect(portablePower(beside, CALLER).fs.read).toEqual(['/home/ada/shopping/x'])
})
