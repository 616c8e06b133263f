#pragma once
#include "ui/text/text.h"
