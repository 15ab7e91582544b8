import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { WINDOWS_PATHS, windowsPath } from '../../src/fs/paths.ts'

const BASE = 'C:/Users/me/ws'
const read = (given: string, base = BASE): string | undefined => {
  const result = WINDOWS_PATHS.read(given, base)
  return 'path' in result ? result.path : undefined
}

describe('a Windows path', () => {
  it.each<[string, string]>([
    // Relative, from the workspace.
    ['a.txt', 'C:/Users/me/ws/a.txt'],
    ['docs\\a.txt', 'C:/Users/me/ws/docs/a.txt'],
    ['docs/a.txt', 'C:/Users/me/ws/docs/a.txt'],
    ['docs\\sub/a.txt', 'C:/Users/me/ws/docs/sub/a.txt'],
    ['.\\a.txt', 'C:/Users/me/ws/a.txt'],
    ['.', 'C:/Users/me/ws'],
    ['..', 'C:/Users/me'],
    ['..\\..\\..\\..\\..', 'C:/'],
    ['docs\\..\\..\\x', 'C:/Users/me/x'],
    ['docs\\\\a.txt', 'C:/Users/me/ws/docs/a.txt'],
    ['docs\\', 'C:/Users/me/ws/docs'],
    ['.gitignore', 'C:/Users/me/ws/.gitignore'],
    ['a b.txt', 'C:/Users/me/ws/a b.txt'],
    ['~\\x', 'C:/Users/me/ws/~/x'],
    ['a~b.txt', 'C:/Users/me/ws/a~b.txt'],
    ['name~1.backup', 'C:/Users/me/ws/name~1.backup'],
    ['longername~1.txt', 'C:/Users/me/ws/longername~1.txt'],
    ['%USERPROFILE%', 'C:/Users/me/ws/%USERPROFILE%'],
    ['console.log', 'C:/Users/me/ws/console.log'],
    ['common', 'C:/Users/me/ws/common'],
    ['com10', 'C:/Users/me/ws/com10'],
    ['nullable.ts', 'C:/Users/me/ws/nullable.ts'],
    ['my.con', 'C:/Users/me/ws/my.con'],
    ['grüße.txt', 'C:/Users/me/ws/grüße.txt'],
    // A drive.
    ['C:\\x', 'C:/x'],
    ['c:\\x', 'C:/x'],
    ['c:/x/y', 'C:/x/y'],
    ['C:\\', 'C:/'],
    ['D:\\x\\..\\y', 'D:/y'],
    ['C:\\Users\\me\\ws\\..\\ws-evil\\a', 'C:/Users/me/ws-evil/a'],
    ['C:\\..\\..\\x', 'C:/x'],
    // Relative to the drive of the workspace.
    ['\\x', 'C:/x'],
    ['/Windows/System32', 'C:/Windows/System32'],
    // Shares.
    ['\\\\server\\share\\a', '//server/share/a'],
    ['//server/share/a', '//server/share/a'],
    ['\\\\server\\share', '//server/share/'],
    ['\\\\server\\share\\..\\..\\a', '//server/share/a'],
    ['\\\\localhost\\C$\\Users\\me\\ws\\a', '//localhost/C$/Users/me/ws/a'],
    ['\\\\127.0.0.1\\c$\\x', '//127.0.0.1/c$/x'],
    // Verbatim, where a plain path means the same.
    ['\\\\?\\C:\\x', 'C:/x'],
    ['\\\\?\\c:\\Users\\me', 'C:/Users/me'],
    ['\\\\?\\C:\\', 'C:/'],
    ['\\??\\C:\\x', 'C:/x'],
    ['\\\\?\\UNC\\server\\share\\a', '//server/share/a'],
    ['\\\\?\\unc\\server\\share\\a', '//server/share/a'],
    ['\\??\\UNC\\server\\share', '//server/share/'],
  ])('%j means %j', (given, path) => {
    expect(read(given)).toBe(path)
  })

  it.each<[string, string]>([
    // Streams of a file.
    ['a.txt:hidden', 'stream'],
    ['a.txt::$DATA', 'stream'],
    ['a.txt:', 'stream'],
    ['docs:$I30:$INDEX_ALLOCATION', 'stream'],
    ['docs\\a.txt:x:$DATA', 'stream'],
    ['C:\\x\\y:z', 'stream'],
    ['\\\\?\\C:\\x:y', 'stream'],
    ['ab:\\x', 'stream'],
    // Devices, at any position and with any extension.
    ['NUL', 'device'], ['nul', 'device'], ['CON', 'device'], ['con.txt', 'device'], ['aux.tar.gz', 'device'],
    ['PRN.', 'dot or space'],
    ['COM1', 'device'], ['com9.log', 'device'], ['LPT1', 'device'], ['lpt0', 'device'], ['COM¹', 'device'],
    ['LPT³.txt', 'device'],
    ['CONIN$', 'device'], ['conout$', 'device'], ['CLOCK$', 'device'], ['nul .txt', 'device'], ['con   .x', 'device'],
    ['docs\\NUL', 'device'], ['docs\\nul\\x', 'device'], ['C:\\aux', 'device'], ['\\\\?\\C:\\NUL', 'device'],
    ['NUL:', 'stream'],
    ['\\\\.\\PhysicalDrive0', 'device'], ['\\\\.\\C:\\x', 'device'], ['\\\\.\\pipe\\x', 'device'],
    ['//./C:/x', 'device'],
    ['\\\\.', 'device'], ['\\/.\\x', 'device'],
    // Characters that Windows drops at the end of a name.
    ['a.txt.', 'dot or space'], ['a.txt ', 'dot or space'], ['a.txt. .', 'dot or space'], ['docs.\\a', 'dot or space'],
    ['docs \\a', 'dot or space'], ['...', 'dot or space'], ['. ', 'dot or space'], ['.. \\x', 'dot or space'],
    ['..\\...\\x', 'dot or space'], ['\\\\?\\C:\\x.', 'dot or space'],
    // Short (8.3) names.
    ['SECRET~1.TXT', 'short (8.3) name'], ['secret~1', 'short (8.3) name'], ['PROGRA~1\\x', 'short (8.3) name'],
    ['C:\\PROGRA~2', 'short (8.3) name'],
    ['a~12.c', 'short (8.3) name'], ['docs\\LONGNA~1.MD', 'short (8.3) name'], ['AB~123', 'short (8.3) name'],
    ['WORKSP~1\\a', 'short (8.3) name'],
    // Relative to the current folder of a drive.
    ['C:', 'current folder of a drive'], ['C:x', 'current folder of a drive'],
    ['c:docs\\a', 'current folder of a drive'], ['D:..\\x', 'current folder of a drive'],
    ['C:.', 'current folder of a drive'],
    // Verbatim, where a plain path would mean something else.
    ['\\\\?\\C:\\x\\..\\y', 'dots'], ['\\\\?\\C:\\.\\x', 'dots'], ['\\\\?\\C:\\x/y', 'slashes'],
    ['//?/C:/x', 'slashes'],
    ['\\\\?\\C:\\x\\\\y', 'empty names'], ['\\\\?\\C:', 'neither'], ['\\\\?\\x', 'neither'], ['\\\\?\\', 'neither'],
    ['\\\\?\\GLOBALROOT\\Device\\HarddiskVolume1\\x', 'neither'],
    ['\\\\?\\Volume{b75e2c83-0000-0000-0000-602f00000000}\\x', 'neither'],
    ['\\??\\PhysicalDrive0', 'neither'], ['\\\\?\\UNC\\server', 'share'], ['\\\\?\\UNC', 'share'],
    ['/??/C:/x', 'slashes'],
    // Incomplete shares.
    ['\\\\server', 'share'], ['\\\\', 'share'], ['\\\\\\share', 'share'], ['\\\\server\\\\a', 'share'],
    ['\\\\..\\share\\a', 'share'],
    ['\\\\server\\..\\a', 'share'], ['\\\\server\\share:x', 'stream'],
    // Characters that names cannot contain.
    ['a*', 'character'], ['a?b', 'character'], ['a<b', 'character'], ['a>b', 'character'], ['a|b', 'character'],
    ['a"b', 'character'],
    ['a\u0001b', 'character'], ['a\nb', 'character'], ['a\u0085b', 'character'],
  ])('%j is rejected: %s', (given, why) => {
    const result = WINDOWS_PATHS.read(given, BASE)
    expect(result).toEqual({ refused: expect.stringContaining(why) as string })
  })

  it('has one canonical form, which parses to itself', () => {
    const pieces = [
      'a', 'B', '.', '..', '', 'nul', 'a.', ' ', 'x~1', ':', 'C:', '\\', '/', '?', '\\\\', '\\\\?\\', 'UNC', '??',
    ]
    const part = fc.tuple(fc.constantFrom(...pieces), fc.constantFrom('\\', '/', ''))
    const given = fc.array(part, { maxLength: 8 }).map((parts) => parts.flat().join(''))
    fc.assert(fc.property(given, (text) => {
      const path = read(text)
      fc.pre(path !== undefined)
      expect(path).toMatch(/^(?:[A-Z]:\/|\/\/[^/\\:]+\/[^/\\:]+\/)/)
      const { names } = WINDOWS_PATHS.split(path!)
      expect(names.every((name) => !/[\\/:]|[. ]$/.test(name))).toBe(true)
      expect(read(path!)).toBe(path)
      expect(read(WINDOWS_PATHS.write(path!))).toBe(path)
    }), { numRuns: thoroughly(1_000, 5_000) })
  })

  it('is relative to a share if the workspace is on one', () => {
    const base = { root: '//server/share/', names: ['ws'] }
    expect(windowsPath('a\\..\\b', base)).toEqual({ ok: true, root: '//server/share/', names: ['ws', 'b'] })
    expect(windowsPath('\\x', base)).toEqual({ ok: true, root: '//server/share/', names: ['x'] })
    expect(read('a', '//server/share/')).toBe('//server/share/a')
  })

  it('of a link target follows the same rules', () => {
    expect(WINDOWS_PATHS.splitTarget('..\\x/y')).toEqual({ root: undefined, names: ['..', 'x', 'y'] })
    expect(WINDOWS_PATHS.splitTarget('\\\\?\\D:\\x')).toMatchObject({ root: 'D:/', names: ['x'] })
    expect(WINDOWS_PATHS.splitTarget('\\\\?\\Volume{1}\\x')).toBeUndefined()
    expect(WINDOWS_PATHS.splitTarget('C:x')).toBeUndefined()
    expect(WINDOWS_PATHS.splitTarget('..\\a.txt:stream')).toBeUndefined()
    expect(WINDOWS_PATHS.splitTarget('docs\\NUL')).toBeUndefined()
  })
})
