import { expect, it } from 'vitest'
import { documentDigest, findParts, partPath, type PartFile } from '../src/document-parts.ts'

const file = (text: string): PartFile => ({ text, digest: `digest of ${text.length}` })

function find(files: Readonly<Record<string, string>>, first: string) {
  const search = findParts(first, files[first]!)
  let next = search.next()
  while (!next.done) next = search.next(Object.hasOwn(files, next.value) ? file(files[next.value]!) : null)
  return next.value
}

it('finds the files of a document in JSON and YAML, each once', () => {
  const parts = find({
    'api.yaml': '$ref: models/pet.yml#/Pet\n"$ref": "models/pet.yml"\n$ref:   \'a%20b.json\'\n{ $ref: gone.yml }\n'
      + '$ref: "#/local"',
    'models/pet.yml': '{"$ref":"../a b.json#/x"}, {"$ref" : "./owner.json"} $ref: ../api.yaml#/components',
    'models/owner.json': '{"$ref":"../../outside.json"} {"$ref":"/etc/passwd"} {"$ref":"https://evil.example/x"}',
    'a b.json': '{}',
  }, 'api.yaml')
  expect([...parts].map(([path, part]) => [path, part !== null])).toEqual([
    ['models/pet.yml', true], ['a b.json', true], ['gone.yml', false], ['models/owner.json', true],
  ])
})

it('finds at most 4,000 files, and does not read more than 32 MB', () => {
  const references = Array.from({ length: 4_005 }, (_, index) => `$ref: f${index}.yml\n`).join('')
  expect(find({ 'api.yaml': references }, 'api.yaml').size).toBe(4_000)
  const long = `$ref: a.yml\n${' '.repeat(32 * 1024 * 1024)}`
  expect(find({ 'api.yaml': long, 'a.yml': '{}' }, 'api.yaml')).toEqual(new Map([['a.yml', null]]))
})

it.each([
  ['../x', undefined], ['a/../../x', undefined], ['..', undefined], ['/x', undefined], ['~/x', undefined],
  ['file:x', undefined], ['C:\\x', undefined], ['a\\..\\x', undefined], ['%2e%2e/x', undefined], ['%5c', undefined],
  ['%', undefined], ['#/x', undefined], ['./x#/y', 'd/x'], ['a/../x', 'd/x'],
])('the path of %s in a folder', (reference, path) => {
  expect(partPath(path === undefined ? 'd' : 'd/f', reference)).toBe(path)
})

it('a digest covers all files, and is that of the document alone without them', () => {
  const parts = new Map([['a', file('1')], ['b', null]])
  expect(documentDigest('own', new Map())).toBe('own')
  const digests = [
    documentDigest('own', parts), documentDigest('other', parts), documentDigest('own', new Map([['a', file('1')]])),
    documentDigest(
      'own',
      new Map([
        ['a', file('22')], ['b', null],
      ]),
    ),
    documentDigest(
      'own',
      new Map([
        ['a', file('1')], ['c', null],
      ]),
    ),
  ]
  expect(new Set(digests).size).toBe(digests.length)
  expect(documentDigest('own', new Map([...parts].toReversed()))).toBe(digests[0])
})
