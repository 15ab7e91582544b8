import type { Manifest } from '@bulkhead/contract'
import { expect, it } from 'vitest'
import { commandAnswerOf, httpAnswerOf, readFixtures } from '../src/fixtures.ts'

const MANIFEST = {
  env: ['LANGUAGE'], secrets: [{ name: 'KEY', hosts: ['api.example.com'] }],
  tools: [{ requires: { net: { hosts: ['api.example.com', '*.wide.example.com'] }, shell: [{ cmd: 'git' }] } }],
} as unknown as Manifest

const read = (files: Readonly<Record<string, unknown>>) =>
  readFixtures(
    new Map(
      Object.entries(files).map(([path, content]) => [
        path, Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
      ]),
    ),
    MANIFEST,
  )

it.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
  [
    'another file', { 'htttp.json': {} },
    'fixtures/htttp.json is not one of files/, http.json, secrets.json, commands.json, tools.json, answers.json.',
  ],
  ['a file in a folder', { 'data/a.txt': 'a' }, 'fixtures/data/a.txt is not one of files/'],
  ['no JSON', { 'http.json': '{ "a"' }, 'fixtures/http.json is not JSON'],
  ['another form', { 'http.json': [] }, 'fixtures/http.json is wrong'],
  [
    'a wrong status', { 'http.json': { 'api.example.com': [{ path: '/', status: 'ok' }] } },
    'fixtures/http.json at /api.example.com/0/status is wrong',
  ],
  [
    'an unknown field', { 'http.json': { 'api.example.com': [{ path: '/', sttus: 200 }] } },
    'fixtures/http.json at /api.example.com/0/sttus is not a known key; perhaps it is "status"',
  ],
  [
    'a path without a slash', { 'http.json': { 'api.example.com': [{ path: 'v1' }] } },
    'fixtures/http.json at /api.example.com/0/path must be a path that begins with /',
  ],
  [
    'a host that no tool declares', { 'http.json': { 'other.example.com': [] } },
    'fixtures/http.json at /other.example.com answers for a host that no tool declares.',
  ],
  [
    'more than one host', { 'http.json': { '*.wide.example.com': [] } },
    'fixtures/http.json at /*.wide.example.com must name one host, without *.',
  ],
  [
    'a header with two lines', { 'http.json': { 'api.example.com': [{ path: '/', headers: { 'x-a': 'a\nb' } }] } },
    'fixtures/http.json at /api.example.com/0/headers/x-a must be a text without line ends',
  ],
  [
    'a name of a secret that is not declared', { 'secrets.json': { OTHER: 'x' } },
    'fixtures/secrets.json at /OTHER has a name that neither secrets nor env declares.',
  ],
  ['a secret that is no text', { 'secrets.json': { KEY: 7 } }, 'fixtures/secrets.json at /KEY is wrong'],
  [
    'a command that no tool declares', { 'commands.json': [{ cmd: 'git' }, { cmd: 'rm' }] },
    'fixtures/commands.json at /1/cmd names a command that no tool declares.',
  ],
  ['a tool with a bad name', { 'tools.json': { 'a b': 1 } }, 'fixtures/tools.json at /a b is not a valid key'],
])('refuses %s, with the file and the field', (_, files, message) => {
  expect(() => read(files)).toThrow(
    expect.objectContaining({ code: 'ConfigInvalid', message: expect.stringContaining(message) }),
  )
})

it('the first answer that matches counts, and a host without one says so', () => {
  const fixtures = read({
    'http.json': {
      'api.example.com': [
        { path: '/v1/cities?name=Lisbon', body: [1] }, { method: 'POST', path: '/v1/cities', status: 201 },
        { path: '/v1/*/weather', body: 'sunny', headers: { 'x-part': 'a' } }, { path: '/files/**' },
      ],
      'a.wide.example.com': [],
    },
  })
  const answer = (url: string, method = 'GET', host = 'API.example.com') =>
    httpAnswerOf(fixtures, { host, method, url })
  expect(answer('/v1/cities?name=Lisbon')).toMatchObject({ body: [1] })
  expect(answer('/v1/cities?name=Porto')).toMatchObject({ status: 404 })
  expect(answer('/v1/cities?name=Porto', 'POST')).toMatchObject({ status: 201 })
  expect(answer('/v1/lisbon/weather?units=metric')).toMatchObject({ body: 'sunny' })
  expect(answer('/v1/a/b/weather')).toMatchObject({ status: 404 })
  expect(answer('/files/a/b')).toMatchObject({ path: '/files/**' })
  expect(answer('/', 'GET', 'a.wide.example.com')).toMatchObject({ status: 404 })
  expect(answer('/', 'GET', 'b.wide.example.com')).toBeUndefined()
})

it('a command is answered by its name and arguments', () => {
  const fixtures = read({
    'commands.json': [
      { cmd: 'git', args: ['log', '-n*'], stdout: 'a\n' }, { cmd: 'git', exitCode: 1, stderr: 'no' },
    ],
  })
  expect(commandAnswerOf(fixtures, 'git', ['log', '-n5'])).toEqual({ exitCode: 0, stdout: 'a\n', stderr: '' })
  expect(commandAnswerOf(fixtures, 'git', ['log'])).toEqual({ exitCode: 1, stdout: '', stderr: 'no' })
  expect(commandAnswerOf(fixtures, 'ls', [])).toBeUndefined()
})
