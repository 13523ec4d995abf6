/* Loaded before a program whose CPUID instructions were replaced by INT3, NOP (cpuid_mask.py): executes them for
   it and clears the bits of AVX-512, AVX-VNNI, AVX10 and AMX, or of AMX alone. Bits: Intel SDM volume 2A, CPUID, leaf 07H. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#define BIT(n) (1u << (n))
static unsigned leaf7_ebx = BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31);
static unsigned leaf7_ecx = BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14);
static unsigned leaf7_edx = BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23) | BIT(24) | BIT(25);
static unsigned leaf7_1_eax = BIT(4) | BIT(5) | BIT(21) | BIT(23);
static unsigned leaf7_1_edx = BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19);

static void answer(int signal_number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned leaf = (unsigned)registers[REG_RAX], subleaf = (unsigned)registers[REG_RCX];
    unsigned eax, ebx, ecx, edx;
    (void)info;
    /* After INT3 the program stands at our NOP; any other breakpoint is not ours. */
    if (*(const unsigned char *)registers[REG_RIP] != 0x90) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
        return;
    }
    __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
    if (leaf == 7 && subleaf == 0) {
        ebx &= ~leaf7_ebx;
        ecx &= ~leaf7_ecx;
        edx &= ~leaf7_edx;
    } else if (leaf == 7 && subleaf == 1) {
        eax &= ~leaf7_1_eax;
        edx &= ~leaf7_1_edx;
    }
    registers[REG_RAX] = eax;
    registers[REG_RBX] = ebx;
    registers[REG_RCX] = ecx;
    registers[REG_RDX] = edx;
}

__attribute__((constructor)) static void install(void) {
    if (getenv("CPUID_MASK_AMX_ALONE")) {
        leaf7_ebx = leaf7_ecx = leaf7_1_edx = 0;
        leaf7_edx = BIT(22) | BIT(24) | BIT(25);
        leaf7_1_eax = BIT(21);
    }
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (sigaction(SIGTRAP, &action, NULL))
        abort();
}
