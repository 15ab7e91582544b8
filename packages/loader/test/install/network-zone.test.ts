import { expect, test } from 'vitest'
import { isCloser, networkZone } from '../../src/install/bounded-fetch.ts'

const nearness = (host: string) => networkZone(new URL(`https://${host}/`))

test.each([
  'localhost', 'LOCALHOST.', 'a.localhost', '127.0.0.1', '127.9.9.9', '0x7f.1', '2130706433', '0.0.0.0', '[::1]',
  '[::]', '[::ffff:127.0.0.1]',
])('%s is this machine', (host) => {
  expect(nearness(host)).toBe('this machine')
})

test.each([
  '10.0.0.1', '172.31.0.1', '192.168.1.1', '169.254.169.254', '100.100.100.200', '168.63.129.16', '[fd00::1]',
  '[fe80::1]', '[::ffff:10.0.0.1]', '[::a00:1]', '[64:ff9b::a00:1]', '[2002:7f00:1::]',
])('%s is in a private network', (host) => {
  expect(nearness(host)).toBe('a private network')
})

test.each([
  'registry.example', 'localhost.example', 'notlocalhost', '93.184.216.34', '172.32.0.1', '[2606:4700::1111]',
])('%s is elsewhere', (host) => {
  expect(nearness(host)).toBe('elsewhere')
})

test('orders zones by distance: this machine, a private network, elsewhere', () => {
  expect(isCloser('this machine', 'a private network')).toBe(true)
  expect(isCloser('a private network', 'elsewhere')).toBe(true)
  expect(isCloser('elsewhere', 'elsewhere')).toBe(false)
  expect(isCloser('a private network', 'this machine')).toBe(false)
})
