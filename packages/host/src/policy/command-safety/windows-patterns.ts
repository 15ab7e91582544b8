import type { CommandSafetyPattern } from '@bulkhead/contract'
import { anyOf, WORDS } from './fragments.ts'

/** Where a command begins in cmd and PowerShell; both read names in either case. */
const INNER_SHELL =
  String.raw`\b(?:cmd(?:\.exe)?\s+/[ck]|(?:powershell|pwsh)(?:\.exe)?\s(?:[^\n;|]*\s)?-c(?:ommand)?)\s+["']?`
const at = (names: string): string => String.raw`(?i)(?:^|[\n;&|({]|${INNER_SHELL})\s*(?:${names})(?:\.exe)?\b`
const FOLDERS = 'systemdrive|systemroot|userprofile|windir'
const DRIVE = String.raw`["']?` + anyOf(
  String.raw`[a-z]:(?:[\\/](?:\*|windows|users|program files)?(?:[\\/]\*?)?)?`, String.raw`%(?:${FOLDERS})%\\?`,
  String.raw`\$env:(?:${FOLDERS})\\?`,
) + String.raw`(?:\.\*|\*)?["']?(?:\s|$|[;&|])`
const DOWNLOADS = 'iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring'

type WindowsPattern = Omit<CommandSafetyPattern, 'platform'>

const patterns: readonly WindowsPattern[] = [
  {
    id: 'format-volume', label: 'Format a drive', category: 'devices', severity: 'critical',
    description: 'Formats a drive: everything on it is gone.',
    pattern: String.raw`(?:${at('format')}\s+(?:/\S+\s+)*[a-z]:|${at('format-volume|clear-disk|initialize-disk')})`,
  },
  {
    id: 'delete-drive', label: 'Delete a drive', category: 'filesystem', severity: 'critical',
    description: 'Deletes everything on a drive, of the system or of a user.',
    pattern: at('del|erase|rd|rmdir')
      + String.raw`(?:${WORDS}\s+/s${WORDS}\s+${DRIVE}|${WORDS}\s+${DRIVE}${WORDS}\s*/s\b)`,
  },
  {
    id: 'remove-item-drive', label: 'Delete a drive by PowerShell', category: 'filesystem', severity: 'critical',
    description: 'Deletes everything on a drive, of the system or of a user.',
    pattern: at('remove-item|ri|rm|del|rd') + anyOf(
      String.raw`${WORDS}\s+-r(?:ecurse)?\b${WORDS}\s+${DRIVE}`,
      String.raw`${WORDS}\s+${DRIVE}${WORDS}\s*-r(?:ecurse)?\b`,
    ),
  },
  {
    id: 'diskpart', label: 'Partition by script', category: 'devices', severity: 'critical',
    description: 'Cleans or partitions disks from a script.',
    pattern: String.raw`(?:${at('diskpart')}\s+/s|(?im)^\s*select\s+disk\s+\d|(?i)\|\s*diskpart\b)`,
  },
  {
    id: 'registry-delete', label: 'Delete from the registry', category: 'system', severity: 'critical',
    description: 'Deletes keys that the system or its programs need.',
    pattern: anyOf(
      String.raw`${at('reg')}\s+delete\s+["']?(?:hklm|hkcr|hku|hkey_)`,
      String.raw`${at('remove-item(?:property)?|ri|rp')}${WORDS}\s+["']?(?:registry::|hklm:|hkcr:)`,
    ),
  },
  {
    id: 'registry-edit', label: 'Change the registry', category: 'system', severity: 'warning',
    description: 'Changes how the system or its programs behave.',
    pattern: anyOf(
      String.raw`${at('reg')}\s+(?:add|import|restore|load)\b`,
      String.raw`${at('regedit')}\s+/s`,
      String.raw`${at('(?:set|new)-item(?:property)?|sp')}${WORDS}\s+["']?(?:registry::|hk(?:lm|cu|cr):)`,
    ),
  },
  {
    id: 'shadow-copies', label: 'Delete backups', category: 'filesystem', severity: 'critical',
    description: 'Deletes backups that files could be restored from, as ransomware does.',
    pattern: anyOf(
      String.raw`${at('vssadmin')}\s+(?:delete|resize)\s+shadow`,
      String.raw`${at('wmic')}\s+shadowcopy\s+delete`,
      String.raw`${at('wbadmin')}\s+delete\b`,
    ),
  },
  {
    id: 'boot-configuration', label: 'Change the boot configuration', category: 'system', severity: 'critical',
    description: 'Changes how the machine starts, or whether it can be repaired.',
    pattern: String.raw`${at('bcdedit|bootrec|bcdboot')}\s+/\w`,
  },
  {
    id: 'defender-off', label: 'Switch protection off', category: 'system', severity: 'critical',
    description: 'Stops the virus scanner or the firewall.',
    pattern: anyOf(
      String.raw`${at('(?:set|add)-mppreference')}${WORDS}\s+-(?:disable|exclusion)`,
      String.raw`${at('netsh')}\s+(?:adv)?firewall\s+set\s+\w+\s+(?:state\s+|opmode\s+mode=)?(?:off|disable)`,
      String.raw`${at('set-netfirewallprofile')}${WORDS}\s+-enabled\s+(?:false|\$false)`,
    ),
  },
  {
    id: 'download-and-invoke', label: 'Run a downloaded script', category: 'remote-code', severity: 'critical',
    description: 'Runs a script from the network without review.',
    pattern: String.raw`(?i)` + anyOf(
      String.raw`\b(?:iex|invoke-expression)\b[^\n]*\b(?:${DOWNLOADS}|curl|wget|net\.webclient)\b`,
      String.raw`\b(?:${DOWNLOADS})\b[^\n]*\|\s*(?:iex|invoke-expression)\b`,
    ),
  },
  {
    id: 'encoded-powershell', label: 'Encoded command', category: 'remote-code', severity: 'critical',
    description: 'Runs an encoded command. Encoding hides what it does.',
    pattern: String.raw`${at('powershell|pwsh')}${WORDS}\s+-e(?:c|nc|nco|ncodedcommand)?\s+[a-z0-9+/=]{16,}`,
  },
  {
    id: 'take-ownership', label: 'Take ownership of system files', category: 'privileges', severity: 'warning',
    description: 'Changes the owner or the permissions of system files.',
    pattern: String.raw`${at('takeown|i?cacls')}${WORDS}\s+["']?`
      + String.raw`(?:[a-z]:\\(?:windows|program files)?|%(?:systemroot|windir)%)`,
  },
  {
    id: 'windows-accounts', label: 'Change accounts', category: 'privileges', severity: 'warning',
    description: 'Creates accounts or makes them administrators.',
    pattern: anyOf(
      String.raw`${at('net1?')}\s+(?:user|localgroup)\s+[^\n;&|]*/(?:add|delete)`,
      String.raw`${at('(?:new|remove)-localuser|add-localgroupmember')}`,
    ),
  },
]

export const WINDOWS_PATTERNS: readonly CommandSafetyPattern[] = patterns
  .map((pattern) => ({ ...pattern, platform: 'windows' }))
