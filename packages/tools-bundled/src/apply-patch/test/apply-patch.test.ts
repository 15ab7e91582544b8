import { mkdir, readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../../scripts/thoroughly.ts'
import { argumentsReaders } from '../../index.ts'
import { readTree } from './git-trees.ts'
import { begin, patchSession, unified } from './patch-session.ts'

const session = patchSession()
const { call, refusal, put, text, workspace } = session
const names = async () => (await readdir(workspace)).toSorted()

describe('the form from "*** Begin Patch"', () => {
  it('changes, creates, moves and deletes files, and is reversible', async () => {
    await put('a.py', 'def one():\n    return 1\n\ndef two():\n    return 1\n')
    await put('old.txt', 'x\ny\n')
    await put('gone.txt', 'bye\n')
    const patch = begin(
      '*** Update File: a.py', '@@ def two():', '-    return 1', '+    return 2',
      '*** Add File: new/b.txt', '+first', '+', '+last',
      '*** Update File: old.txt', '*** Move to: moved/new.txt', '@@', ' x', '-y', '+z', '*** End of File',
      '*** Delete File: gone.txt',
    )
    const { files, reverse } = await call({ patch })
    expect(files).toEqual([
      { path: 'a.py', change: 'changed', hunks: 1 }, { path: 'new/b.txt', change: 'created', hunks: 1 },
      { path: 'moved/new.txt', change: 'moved', from: 'old.txt', hunks: 1 },
      { path: 'gone.txt', change: 'deleted', hunks: 0 },
    ])
    expect(await text('a.py')).toBe('def one():\n    return 1\n\ndef two():\n    return 2\n')
    expect(await text('new/b.txt')).toBe('first\n\nlast\n')
    expect(await text('moved/new.txt')).toBe('x\nz\n')
    expect(await names()).toEqual(['a.py', 'moved', 'new'])
    await call({ patch: reverse as string })
    expect(await text('a.py')).toBe('def one():\n    return 1\n\ndef two():\n    return 1\n')
    expect([await text('old.txt'), await text('gone.txt')]).toEqual(['x\ny\n', 'bye\n'])
  })

  it('adds lines at the end without context, also after a last line without a line end', async () => {
    await put('a.txt', 'one')
    const { reverse } = await call({ patch: begin('*** Update File: a.txt', '@@', '+two') })
    expect(await text('a.txt')).toBe('one\ntwo\n')
    await call({ patch: reverse as string })
    expect(await text('a.txt')).toBe('one')
  })

  it.each([
    ['has no end', '*** Begin Patch\n*** Delete File: a.txt', /no "\*\*\* End Patch"/],
    [
      'has another patch after its end', `${begin('*** Delete File: a.txt')}\n${begin('*** Delete File: b.txt')}`,
      /after "\*\*\* End Patch"/,
    ],
    ['has an unknown section', begin('*** Replace File: a.txt'), /^Line 2 of the patch: /],
    ['has a new line without "+"', begin('*** Add File: b.txt', 'x'), /^Line 3 of the patch: /],
    ['has a line without a sign', begin('*** Update File: a.txt', '@@', 'one'), /^Line 4 of the patch: /],
    ['changes nothing', begin('*** Update File: a.txt'), /has no changes/],
    ['is empty', begin(), /changes no file/],
    [
      'has an unknown anchor', begin('*** Update File: a.txt', '@@ class X', '-one'),
      /^The line "class X" after "@@" of Hunk 1 of "a\.txt" is not in the file/,
    ],
  ])('is refused if it %s', async (_, patch, message) => {
    await put('a.txt', 'one\n')
    expect(await refusal({ patch })).toMatchObject({ code: 'InputInvalid', message: expect.stringMatching(message) })
    expect(await text('a.txt')).toBe('one\n')
  })
})

describe('a patch', () => {
  it.each([
    ['leads out', unified('../x', '@@ -0,0 +1 @@', '+x'), 'InputInvalid'],
    ['leads out in the middle', unified('src/../../x', '@@ -0,0 +1 @@', '+x'), 'InputInvalid'],
    ['names a file outside', begin('*** Add File: /etc/bulkhead-test', '+x'), 'CapabilityDenied'],
    ['names a file of the home folder', begin('*** Add File: ~/x', '+x'), 'InputInvalid'],
    ['goes through a link', begin('*** Add File: out/x', '+x'), 'CapabilityDenied'],
    ['changes a link', begin('*** Update File: link', '@@', '-a', '+b'), 'InputInvalid'],
    ['deletes a folder', begin('*** Delete File: folder'), 'InputInvalid'],
    ['writes into .git', begin('*** Add File: .git/hooks/post-checkout', '+x'), 'CapabilityDenied'],
    [
      'creates a link',
      'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n'
        + '\\ No newline at end of file\n',
      'InputInvalid',
    ],
    ['has binary data', 'diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\n', 'InputInvalid'],
    ['is of a merge', '--- a/a.txt\n+++ b/a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n  a\n', 'InputInvalid'],
    ['creates a file that exists', begin('*** Add File: a.txt', '+x'), 'InputInvalid'],
    ['changes a file that does not exist', begin('*** Update File: none', '@@', '-a', '+b'), 'NotFound'],
    ['moves onto another file', begin('*** Update File: a.txt', '*** Move to: folder/b'), 'InputInvalid'],
    [
      'deletes less than the file has',
      'diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n',
      'InputInvalid',
    ],
    ['is no patch', 'Please change the file.', 'InputInvalid'],
    ['has a hunk without a file', '@@ -1 +1 @@\n-a\n+b\n', 'InputInvalid'],
    [
      'makes a file and a folder of one name', begin('*** Add File: n', '+x', '*** Add File: n/m', '+x'),
      'InputInvalid',
    ],
  ])('is refused as a whole if it %s', async (_, hostile, code) => {
    await put('a.txt', 'a\n')
    await put('folder/b', 'b\n')
    await mkdir(join(workspace, '.git'))
    await symlink('a.txt', join(workspace, 'link'))
    await symlink('..', join(workspace, 'out'))
    const before = await names()
    expect((await refusal({ patch: hostile })).code).toBe(code)
    expect(await names()).toEqual(before)
    expect(await text('a.txt')).toBe('a\n')
  })

  it.each([
    ['in a code block', ['```', '', '```']], ['in a letter', ['Here is the patch:\n', 'I hope it helps.', '-- ']],
  ])('may be %s', async (_, [head, ...tail]) => {
    await put('a.txt', 'a\n')
    await call({ patch: [head, begin('*** Update File: a.txt', '@@', '-a', '+b'), ...tail].join('\n') })
    await call({ patch: [head, unified('a.txt', '@@ -1 +1 @@\n-b\n+c').trimEnd(), ...tail].join('\n') })
    expect(await text('a.txt')).toBe('c\n')
  })

  it.each([
    [
      '*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n',
      'The patch has no "*** End Patch". Send the complete patch.',
    ],
    [begin('*** Add File: n', 'x'), 'Line 3 of the patch: each line of a new file begins with "+". Correct the patch.'],
    [
      begin('*** Rename File: n'),
      'Line 2 of the patch: "*** Add File: ", "*** Update File: " or "*** Delete File: " is expected here. Correct '
        + 'the patch.',
    ],
    [
      begin('*** Update File: none', '@@', '-a', '+b'),
      '"none" does not exist. Nothing was written. Check the path, or create the file with the patch.',
    ],
  ])('that cannot be used is refused with the cure: %j', async (patch, message) => {
    expect((await refusal({ patch })).message).toBe(message)
  })

  it('may change one file in several sections', async () => {
    await put('a.txt', 'a\nb\n')
    const { reverse } = await call({
      patch: begin('*** Update File: a.txt', '@@', '-a', '+A', '*** Update File: ./a.txt', '@@', '-b', '+B'),
    })
    expect(await text('a.txt')).toBe('A\nB\n')
    await call({ patch: reverse as string })
    expect(await text('a.txt')).toBe('a\nb\n')
  })

  it('copies a file as it was before the patch, although an earlier section changes it', async () => {
    await put('a', 'old\n')
    const copy = 'diff --git a/a b/c\nsimilarity index 100%\ncopy from a\ncopy to c\n'
    const { reverse } = await call({
      patch: `diff --git a/a b/a\n${unified('a', '@@ -1 +1 @@', '-old', '+new')}${copy}`,
    })
    expect([await text('a'), await text('c')]).toEqual(['new\n', 'old\n'])
    await call({ patch: reverse as string })
    expect([await text('a'), await names()]).toEqual(['old\n', ['a']])
  })

  it('ends in time, whatever the file and the hunks are', LONG, async () => {
    const part = thoroughly(4, 1)
    await put('same.txt', 'a\n'.repeat(100_000 / part))
    const many = Array.from({ length: 20_000 / part }, () => '-a').join('\n')
    expect(
      (await refusal({ patch: unified('same.txt', `@@ -900000,${20_000 / part} +1,0 @@\n${many}`) })).message,
    ).toMatch(/fits at lines 1, 2, 3, 4, 5 and maybe more/)
    const nearly = unified('same.txt', `@@ -1,${20_000 / part + 1} +1,0 @@\n${many}\n-b`)
    expect((await refusal({ patch: nearly })).message).toMatch(/does not have the line "b"/)
    await put(
      'steps.txt', `${Array.from({ length: 3_000 }, (_, index) => `${index}\n`).join('')}${'a\n'.repeat(100_000)}`,
    )
    const steps = Array.from({ length: 3_000 }, (_, index) => `@@ -900000 +1 @@\n-${index}\n+x`).join('\n')
    expect((await refusal({ patch: unified('steps.txt', steps) })).message).toMatch(/too many hunks/)
    await put('lines.txt', '\n'.repeat(500_001))
    expect((await refusal({ patch: unified('lines.txt', '@@ -1 +1 @@\n-a\n+b') })).message).toMatch(
      /more than 500000 lines/,
    )
  })

  it('changes at most 500 files with at most 32 MB, and shows the beginning of a long line', LONG, async () => {
    const many = Array.from({ length: 501 }, (_, index) => [`*** Add File: f${index}`, '+x']).flat()
    const tooMany = await refusal({ patch: begin(...many) })
    expect(tooMany.message).toMatch(/^The patch changes 501 files; at most 500 are possible/)
    for (const name of 'abcde') await put(name, Buffer.alloc(7 * 1024 * 1024, '\n'.padStart(1024)))
    const large = [...'abcde'].flatMap((name) => [`*** Update File: ${name}`, '@@', '+x'])
    expect((await refusal({ patch: begin(...large) })).message).toContain('The files have more than 33554432 bytes.')
    await put('a.txt', 'a\n')
    const { message } = await refusal({ patch: begin('*** Update File: a.txt', '@@', `-${'y'.repeat(500)}`) })
    expect(message).toContain(`"${'y'.repeat(200)}…"`)
  })

  it('has no reverse if that would be long, or not a string', async () => {
    expect(await call({ patch: begin('*** Add File: a.txt', `+${'x'.repeat(20_000)}`) })).not.toHaveProperty('reverse')
    await put('b.bin', Uint8Array.of(0xff, 0xfe, 0xfd))
    expect(await call({ patch: begin('*** Delete File: b.bin') })).not.toHaveProperty('reverse')
  })
})

it('any text is a patch or is refused with a reason, and what it names is what it changes', async () => {
  const pieces = fc.constantFrom(
    '*** Begin Patch', '*** End Patch', '*** Update File: a.txt', '*** Add File: b.txt', '*** Delete File: a.txt',
    '*** Move to: c.txt', '@@', '@@ two', '*** End of File', 'diff --git a/a.txt b/a.txt', '--- a/a.txt', '+++ b/a.txt',
    '+++ /dev/null', '--- /dev/null', '@@ -1 +1 @@', '@@ -1,2 +1,3 @@', '@@ -0,0 +1 @@', ' one', '-one', '+one', ' two',
    '-two', '+two', '', '-- ', '\\ No newline at end of file', 'rename from a.txt', 'rename to c.txt',
    'new file mode 100755', 'deleted file mode 100644', 'old mode 100644', 'new mode 100755', 'Binary files differ',
    '+\r', '@@@ x',
  )
  const texts = fc.oneof(
    fc.array(pieces, { maxLength: 14 }).map((lines) => lines.join('\n')),
    fc.array(pieces, { maxLength: 10 }).map((lines) => begin(...lines)), fc.string(),
  )
  await fc.assert(fc.asyncProperty(texts, async (patch) => {
    fc.pre(patch !== '')
    for (const name of ['b.txt', 'c.txt']) await rm(join(workspace, name), { force: true })
    await put('a.txt', 'one\ntwo\n')
    const before = readTree(workspace)
    const named = argumentsReaders.get('apply_patch')!({ patch }, { workspace }).effects?.writes ?? []
    const outcome = await call({ patch }).catch((error: unknown) => error)
    const after = readTree(workspace)
    if (outcome instanceof Error) {
      expect(['InputInvalid', 'NotFound', 'CapabilityDenied'], outcome.stack!).toContain(
        (outcome as Error & { code: string }).code,
      )
      expect(after).toEqual(before)
      return
    }
    const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
      (path) => !isDeepStrictEqual(before[path], after[path]),
    )
    expect(named.map(({ path }) => path)).toEqual(expect.arrayContaining(changed.map((path) => join(workspace, path))))
    await call({ patch: (outcome as { reverse: string }).reverse })
    expect(readTree(workspace)).toEqual(before)
  }), { numRuns: thoroughly(10, 5_000) })
})

it.each([
  [begin('*** Add File: src/a/x.ts', '+x', '*** Delete File: src/b/y.ts'), 'src/a/x.ts // src/b/y.ts'],
  [begin('*** Add File: src/x.ts', '+x'), 'src/x.ts'],
  [begin('*** Add File: src/x.ts', '+x', '*** Update File: lib/y', '*** Move to: lib/z'), 'lib/y // lib/z // src/x.ts'],
])('the approval key names the files: %j', async (patch, key) => {
  expect(await session.key({ patch })).toBe(key)
})
