import type { CommandSafetyPattern } from '@bulkhead/contract'
import { anyOf, command, DISK, END, HOME, INTO_FILE, SYSTEM_ROOT, WORDS } from './fragments.ts'

const RECURSIVE = String.raw`\s+-(?:\w*[rR]\w*|-recursive)`
const PROTECTORS = 'firewalld|ufw|apparmor|auditd|fail2ban|nftables'
type UnixPattern = Omit<CommandSafetyPattern, 'platform'>

/** The flag may stand before what it is for, or after. */
const recursively = (names: string, targets: string): string => command(names) + anyOf(
  `${WORDS}${RECURSIVE}${WORDS}\\s+(?:${targets})${END}`,
  `${WORDS}\\s+(?:${targets})["']?${WORDS}${RECURSIVE}${END}`,
)

const filesystem: readonly UnixPattern[] = [
  {
    id: 'rm-system', label: 'Remove the system', category: 'filesystem', severity: 'critical',
    description: 'Removes / or a folder that the system needs.',
    pattern: recursively('rm', SYSTEM_ROOT),
  },
  {
    id: 'rm-home', label: 'Remove a home folder', category: 'filesystem', severity: 'critical',
    description: 'Removes every file of a user.',
    pattern: recursively('rm', HOME),
  },
  {
    id: 'rm-everything-here', label: 'Remove everything here', category: 'filesystem', severity: 'warning',
    description: 'Removes the working folder, its parent, or everything in it.',
    pattern: recursively('rm', String.raw`["']?(?:\.{1,2}/?|\*|\./\*|(?:\.\./)+\*?)`),
  },
  {
    id: 'no-preserve-root', label: 'No protection of /', category: 'filesystem', severity: 'critical',
    description: 'Disables the protection of / in a recursive command.',
    pattern: `${command('rm', 'chmod', 'chown', 'chgrp')}${WORDS}\\s+--no-preserve-root`,
  },
  {
    id: 'find-delete-system', label: 'Delete by find from /', category: 'filesystem', severity: 'critical',
    description: 'Walks the whole system or home and deletes what it finds.',
    pattern: String.raw`${command('find')}\s+(?:${SYSTEM_ROOT}|${HOME})["']?${WORDS}\s+`
      + String.raw`(?:-delete|-exec(?:dir)?\s+(?:/bin/)?rm)\b`,
  },
  {
    id: 'chmod-system', label: 'Change permissions of the system', category: 'filesystem', severity: 'critical',
    description: 'Changes the permissions of every file of the system.',
    pattern: recursively('chmod|chown|chgrp', SYSTEM_ROOT),
  },
  {
    id: 'chmod-everyone', label: 'Writable for everyone', category: 'filesystem', severity: 'warning',
    description: 'Lets every account on the machine change files.',
    pattern: `${command('chmod')}${WORDS}\\s+(?:0?777|a\\+\\w*w\\w*|o\\+\\w*w\\w*|ugo\\+\\w*w\\w*)${END}`,
  },
  {
    id: 'setuid', label: 'Run as its owner', category: 'privileges', severity: 'warning',
    description: 'Makes a program run with the rights of its owner.',
    pattern: `${command('chmod')}${WORDS}\\s+(?:[0]?[4-7][0-7]{3}|[ug]*\\+\\w*s\\w*)${END}`,
  },
  {
    id: 'mv-away', label: 'Move files away', category: 'filesystem', severity: 'critical',
    description: 'Moves files to a place where they are lost, or moves system folders.',
    pattern: `${command('mv')}(?:${WORDS}\\s+/dev/null${END}|\\s+(?:${SYSTEM_ROOT}|${HOME})["']?\\s)`,
  },
  {
    id: 'write-system-file', label: 'Write accounts or boot files', category: 'filesystem', severity: 'critical',
    description: 'Overwrites files that control logins or how the machine starts.',
    pattern: INTO_FILE + anyOf(
      String.raw`/etc/(?:passwd|shadow|group|sudoers|fstab|hosts\.allow|pam\.d/|ssh/sshd_config|ld\.so\.preload)`,
      '/boot/',
    ),
  },
]

const devices: readonly UnixPattern[] = [
  {
    id: 'mkfs', label: 'Make a file system', category: 'devices', severity: 'critical',
    description: 'Formats a disk: everything on it is gone.',
    pattern: `${command(String.raw`mkfs(?:\.\w+)?`, 'mke2fs', 'mkswap', 'newfs')}(?:\\s+[^\\s;&|]|$)`,
  },
  {
    id: 'dd-disk', label: 'Write a disk with dd', category: 'devices', severity: 'critical',
    description: 'Overwrites a disk byte by byte.',
    pattern: `${command('dd', 'dcfldd')}${WORDS}\\s+of=["']?${DISK}`,
  },
  {
    id: 'redirect-to-disk', label: 'Redirect to a disk', category: 'devices', severity: 'critical',
    description: 'Overwrites the beginning of a disk.',
    pattern: String.raw`>\s*["']?${DISK}`,
  },
  {
    id: 'wipe-disk', label: 'Wipe a disk', category: 'devices', severity: 'critical',
    description: 'Erases a disk or its signatures.',
    pattern: `${command('wipefs', 'shred', 'blkdiscard', 'hdparm', 'badblocks')}${WORDS}\\s+["']?${DISK}`,
  },
  {
    id: 'partition-disk', label: 'Change partitions', category: 'devices', severity: 'warning',
    description: 'Changes the partitions of a disk.',
    pattern: `${command('fdisk', 'sfdisk', 'cfdisk', 'gdisk', 'sgdisk', 'parted')}${WORDS}\\s+["']?${DISK}`,
  },
]

const system: readonly UnixPattern[] = [
  {
    id: 'fork-bomb', label: 'Fork bomb', category: 'availability', severity: 'critical',
    description: 'Starts processes without end until the machine hangs.',
    pattern: String.raw`(?:^|[\s;&|("'])(?:function\s+)?[\w:.]+\s*\(\s*\)\s*`
      + String.raw`\{\s*[\w:.]+\s*\|\s*[\w:.]+\s*&\s*\}\s*;?\s*[\w:.]+`,
  },
  {
    id: 'kill-everything', label: 'Kill every process', category: 'availability', severity: 'critical',
    description: 'Kills every process that it can.',
    pattern: anyOf(
      `${command('kill')}\\s+(?:-s\\s+)?-?\\w+${WORDS}\\s+(?:--\\s+)?-1${END}`,
      `${command('killall5')}`,
      `${command('pkill', 'killall')}${WORDS}\\s+-(?:u|U|-user|-euid)\\s*root`,
    ),
  },
  {
    id: 'sysrq', label: 'Kernel trigger', category: 'availability', severity: 'critical',
    description: 'Crashes or restarts the kernel at once.',
    pattern: `${INTO_FILE}/proc/sysrq-trigger`,
  },
  {
    id: 'kernel-module', label: 'Change the kernel', category: 'system', severity: 'warning',
    description: 'Loads or removes kernel modules, or changes kernel settings.',
    pattern: anyOf(
      String.raw`${command('insmod', 'rmmod', 'modprobe')}\s+[^\s;&|]`,
      String.raw`${command('sysctl')}${WORDS}\s+(?:-w|--write)${END}`,
    ),
  },
  {
    id: 'firewall-flush', label: 'Drop the firewall', category: 'network', severity: 'critical',
    description: 'Removes firewall rules.',
    pattern: anyOf(
      `${command('ip6?tables')}${WORDS}\\s+(?:-F|--flush|-X|-P\\s+(?:INPUT|FORWARD)\\s+ACCEPT)${END}`,
      `${command('nft')}${WORDS}\\s+flush\\s+ruleset`,
      `${command('ufw')}${WORDS}\\s+(?:disable|reset)${END}`,
    ),
  },
  {
    id: 'protection-off', label: 'Switch protection off', category: 'system', severity: 'critical',
    description: 'Stops security software.',
    pattern: anyOf(
      `${command('setenforce')}\\s+(?:0|[Pp]ermissive)${END}`,
      `${command('systemctl', 'service')}${WORDS}\\s+(?:stop|disable|mask)${WORDS}\\s+(?:${PROTECTORS})\\b`,
      `${command('spctl')}\\s+--master-disable`,
      `${command('csrutil')}\\s+disable`,
    ),
  },
  {
    id: 'accounts', label: 'Change accounts', category: 'privileges', severity: 'warning',
    description: 'Creates, removes or elevates accounts.',
    pattern: anyOf(
      `${command('useradd', 'adduser', 'userdel', 'deluser', 'groupdel', 'visudo', 'chpasswd')}(?:\\s|$)`,
      `${command('usermod', 'gpasswd')}${WORDS}\\s+(?:sudo|wheel|admin|root|docker)\\b`,
      `${command('passwd')}${WORDS}\\s+root${END}`,
    ),
  },
  {
    id: 'crontab-remove', label: 'Remove all jobs', category: 'system', severity: 'warning',
    description: 'Removes every scheduled job of an account.',
    pattern: `${command('crontab')}${WORDS}\\s+-\\w*r\\w*${END}`,
  },
]

export const UNIX_PATTERNS: readonly CommandSafetyPattern[] =
  [...filesystem, ...devices, ...system].map((pattern) => ({ ...pattern, platform: 'unix' }))
